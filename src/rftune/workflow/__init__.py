"""What the workflow decides: config, plan, fingerprints, folders, jobs; plain Python that knows no Snakemake."""
