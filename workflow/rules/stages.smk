# The stages of one experiment by name: tune_ishigami.

for target, paths in plan.stage_targets.items():

    rule:
        """One stage of an experiment, for all of its cases and emulators."""
        name:
            target
        input:
            paths,
