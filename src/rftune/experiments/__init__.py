"""The paper's experiments. Each is a package with the modules of its stages:

- ``data``: ``Settings``, ``CASE_PATTERN``, ``cases(block)``, ``shape(settings)`` and ``make_data(settings, rng)``;
- ``analysis``: ``analyse(data, predictions, n_bootstrap, rng)`` and ``analyse_truth(data, n_bootstrap, rng)``;
- ``tables`` and ``figures``: what is shown, from stored results alone.

They share the data file of `protocol`, so that tuning and prediction need not know the experiment.
"""

EXPERIMENTS = ("ishigami", "sobol_g")
