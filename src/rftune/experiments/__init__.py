"""The paper's experiments. Each is a package with the modules of its stages:

- ``data``: ``Settings``, ``shape(settings)`` and ``make_data(settings, rng)``;
- ``analysis``: ``analyse(data, predictions, rng)``;
- ``tables`` and ``figures``: what is shown, from stored results alone.

They share the data file of `protocol`, so that tuning and prediction need not know the experiment.
"""

EXPERIMENTS = ("ishigami", "sobol_g")
