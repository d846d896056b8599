# Training data, prediction points and truth of every case.


rule begin:
    """The mark that a run has begun."""
    output:
        touch(BEGUN),


rule data:
    """Training data, prediction points and truth of a case."""
    input:
        plan.source,
    output:
        f"{CASE}/data.nc",
    log:
        plan.log("{experiment}/{case}/seed{seed}/data"),
    benchmark:
        plan.benchmark("{experiment}/{case}/seed{seed}/data")
    priority: 2  # short, and the longest jobs wait for nothing else
    conda:
        plan.environment
    resources:
        **ask.of("data"),
    params:
        **told(settings=plan.data_settings),
        code=plan.code("data"),
    script:
        "../scripts/data.py"


# A bad data file is found here, before long work is started or an earlier result is replaced.
rule check_data:
    """The check of a data file, before long work is started."""
    input:
        data=f"{CASE}/data.nc",
    output:
        f"{CASE}/data.checked",
    log:
        plan.log("{experiment}/{case}/seed{seed}/check_data"),
    benchmark:
        plan.benchmark("{experiment}/{case}/seed{seed}/check_data")
    priority: 2
    conda:
        plan.environment
    resources:
        **ask.of("check_data"),
    params:
        code=plan.code("check_data"),
    script:
        "../scripts/check_data.py"
