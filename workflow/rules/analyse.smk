# What the experiment is after, for every repeat of every emulator.


rule analyse:
    """What the experiment is after, for every repeat of an emulator."""
    input:
        unpack(plan.analysed),
        data=f"{CASE}/data.nc",
    output:
        f"{CASE}/{{emulator}}/analysis.nc",
    log:
        plan.log("{experiment}/{case}/seed{seed}/{emulator}/analyse"),
    benchmark:
        plan.benchmark("{experiment}/{case}/seed{seed}/{emulator}/analyse")
    conda:
        plan.environment
    resources:
        **ask.of("analyse"),
    params:
        **told(settings=plan.block("analysis")),
        code=plan.code("analyse"),
    script:
        "../scripts/analyse.py"


# The truth goes the same road as the emulators.
rule analyse_truth:
    """What the experiment is after, of the truth."""
    input:
        unpack(plan.true_posterior),
        data=f"{CASE}/data.nc",
    output:
        f"{CASE}/truth.nc",
    log:
        plan.log("{experiment}/{case}/seed{seed}/analyse_truth"),
    benchmark:
        plan.benchmark("{experiment}/{case}/seed{seed}/analyse_truth")
    conda:
        plan.environment
    resources:
        **ask.of("analyse_truth"),
    params:
        **told(settings=plan.block("truth")),
        code=plan.code("analyse_truth"),
    script:
        "../scripts/analyse_truth.py"
