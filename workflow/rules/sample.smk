# Posterior samples, in the experiments that infer parameters: with every emulator, and with the truth in its place.


rule sample:
    """Samples of the posterior with an emulator in the likelihood."""
    input:
        data=f"{CASE}/data.nc",
        tuned=f"{CASE}/{{emulator}}/tuned-{{repeats}}.nc",
    output:
        f"{CASE}/{{emulator}}/posterior-{{repeats}}.nc",
    log:
        plan.log("{experiment}/{case}/seed{seed}/{emulator}/sample-{repeats}"),
    benchmark:
        plan.benchmark("{experiment}/{case}/seed{seed}/{emulator}/sample-{repeats}")
    priority: 1  # see below
    conda:
        plan.environment
    resources:
        **ask.of("sample"),
    params:
        **told(
            settings=plan.settings("sample"),
            sampling=plan.block("sampling"),
            likelihood=plan.block("likelihood"),
        ),
        code=plan.code("sample"),
    script:
        "../scripts/sample.py"


rule sample_truth:
    """Samples of the posterior with the truth in the likelihood."""
    input:
        data=f"{CASE}/data.nc",
        checked=ancient(f"{CASE}/data.checked"),
    output:
        f"{CASE}/posterior.nc",
    log:
        plan.log("{experiment}/{case}/seed{seed}/sample_truth"),
    benchmark:
        plan.benchmark("{experiment}/{case}/seed{seed}/sample_truth")
    priority: 2  # the longest jobs of a run begin early, so that none is left over at its end
    conda:
        plan.environment
    resources:
        **ask.of("sample_truth"),
    params:
        **told(sampling=plan.block("sampling")),
        code=plan.code("sample_truth"),
    script:
        "../scripts/sample_truth.py"
