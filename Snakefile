# From a config to the paper's figures: data -> tune -> predict -> analyse -> table and figure -> report.
#
#   snakemake                                        everything, the paper's settings
#   snakemake --configfile config/quick.yaml         everything, in minutes
#   snakemake tune_ishigami                          one stage of one experiment
#   snakemake F1                                     one figure or table
#   snakemake sweep --config sweep=config/sweeps/rank.yaml   settings varied: a table and a picture
#   snakemake report                                 the page that shows everything beside the paper

from snakemake.utils import min_version

min_version("9.0")


configfile: "config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/tune.smk"
include: "workflow/rules/predict.smk"
include: "workflow/rules/sample.smk"
include: "workflow/rules/analyse.smk"


if SWEEP:

    include: "workflow/rules/sweep.smk"

    rule sweep:
        default_target: True
        input:
            rules.sweep_table.output,
            rules.sweep_figure.output,

else:

    include: "workflow/rules/table.smk"
    include: "workflow/rules/complexity.smk"
    include: "workflow/rules/figure.smk"
    include: "workflow/rules/sections.smk"
    include: "workflow/rules/report.smk"

    rule all:
        default_target: True
        input:
            [picture(artifact) for artifact in FIGURES],
            [table_path(artifact) for artifact in ALL_TABLE_NAMES],
            PAGE,

    # What claims all cores goes first (make does so): later it would wait until every other job is done, and what follows
    # from it would run one by one.
    rule timed:
        input:
            [path for key, run in RUNS.items() if run.timed for path in run_paths("times", *key)],
            MEASURED_COSTS if HAS_COMPLEXITY else [],

    rule sweep:
        input:
            unnamed_sweep,
