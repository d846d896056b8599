# The workflow is in workflow/Snakefile, where Snakemake's catalogue and workflows that use this one as a module look for it.


include: "workflow/Snakefile"


rule default:
    default_target: True
    input:
        rules.all.input,
