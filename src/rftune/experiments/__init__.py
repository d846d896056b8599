"""The paper's experiments. Each is a package with the modules of its stages:

- ``data``: ``Settings``, ``is_case(name)``, ``cases(block)``, ``shape(settings)`` and ``make_data(settings, rng)``;
- ``prediction``: ``predict(model, data)``, what is asked of one fitted emulator;
- ``analysis``: ``analyse(data, predictions, rng=...)`` and ``analyse_truth(data, rng=...)``, with the experiment's own
  settings (config blocks ``analysis`` and ``truth``) as further keywords;
- ``tables`` and ``figures``: what is shown, from stored results alone;
- ``verdicts``: ``compare(evidence, paper)``, the paper's numbers beside ours;
- ``sampling``, where parameters are inferred: ``log_posterior(model, data)``, with the config block ``likelihood`` as
  further keywords, ``log_posterior_of_truth(data)`` and ``start(data, n_walkers, rng)``; the config block ``sampling``
  has the settings of the chains, and ``analyse`` takes the posteriors.

``prediction`` may also have ``measure(model, data)``, times that are kept beside the results.

They share the data file of `protocol`, so that tuning and prediction need not know the experiment. ``complexity`` is
none of them: it measures what the methods cost.
"""

EXPERIMENTS = ("ishigami", "sobol_g", "lorenz63", "edmf")
