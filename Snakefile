# The workflow is in workflow/Snakefile, where Snakemake's catalogue and workflows that use this one as a module look for it.


include: "workflow/Snakefile"


rule default:
    """Everything, as rule all."""
    default_target: True
    input:
        rules.all.input,


# A name without folder and suffix that is no rule's. Workflows that use this one as a module have such files of their own.
rule unknown_target:
    """Says which target a mistyped name is nearest to."""
    input:
        no_such_target,
    output:
        "{target}",
    wildcard_constraints:
        target=unknown_names(),
