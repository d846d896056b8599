"""Random feature regression whose feature distribution is tuned by ensemble Kalman inversion.

An emulator looks for hyperparameters, then conditions on the data with them:

>>> import numpy as np
>>> import rftune
>>> rng = np.random.default_rng(1)
>>> x = rng.uniform(-2.0, 2.0, (80, 2))
>>> y = np.sin(3.0 * x[:, :1]) + 0.05 * rng.standard_normal((80, 1))
>>> training = rftune.Training(rftune.Dataset(x, y), noise=np.array([[0.05**2]]))
>>> emulator = rftune.RandomFeatures(tuning=rftune.TuningSettings(n_features=50, n_iterations=5))
>>> tuned = emulator.tune(rftune.Task(training, rng))
>>> model = emulator.fit(training, tuned.result, rng)
>>> prediction = model.predict([[0.5, 0.0]])
>>> bool(abs(prediction.mean[0, 0] - np.sin(1.5)) < 5 * prediction.std[0, 0] < 0.5)
True

The names below are the public ones. They are imported when they are first used, so that a job waits for what it needs
alone.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from rftune.analysis.sensitivity import indices as indices
    from rftune.analysis.sensitivity import saltelli as saltelli
    from rftune.data import Dataset as Dataset
    from rftune.data import Prediction as Prediction
    from rftune.emulators.base import EMULATORS as EMULATORS
    from rftune.emulators.base import Task as Task
    from rftune.emulators.kinds.gp import GaussianProcess as GaussianProcess
    from rftune.emulators.kinds.random_features import PredictionSettings as PredictionSettings
    from rftune.emulators.kinds.random_features import RandomFeatures as RandomFeatures
    from rftune.features.settings import FeatureSettings as FeatureSettings
    from rftune.fitting.emulator import FittedEmulator as FittedEmulator
    from rftune.fitting.emulator import fit as fit
    from rftune.fitting.emulator import load as load
    from rftune.fitting.estimators import GaussianProcessEmulator as GaussianProcessEmulator
    from rftune.fitting.estimators import RandomFeatureRegressor as RandomFeatureRegressor
    from rftune.inference.mcmc import sample as sample
    from rftune.inference.settings import SamplingSettings as SamplingSettings
    from rftune.scaling import Training as Training
    from rftune.seeding import rng_for as rng_for
    from rftune.tuning.loop import TuningSettings as TuningSettings
    from rftune.tuning.optimisers.eki import EnsembleKalmanInversion as EnsembleKalmanInversion

_PLACES = {
    "EMULATORS": "emulators.base",
    "Dataset": "data",
    "EnsembleKalmanInversion": "tuning.optimisers.eki",
    "FeatureSettings": "features.settings",
    "FittedEmulator": "fitting.emulator",
    "GaussianProcess": "emulators.kinds.gp",
    "GaussianProcessEmulator": "fitting.estimators",
    "Prediction": "data",
    "PredictionSettings": "emulators.kinds.random_features",
    "RandomFeatureRegressor": "fitting.estimators",
    "RandomFeatures": "emulators.kinds.random_features",
    "SamplingSettings": "inference.settings",
    "Task": "emulators.base",
    "Training": "scaling",
    "TuningSettings": "tuning.loop",
    "fit": "fitting.emulator",
    "indices": "analysis.sensitivity",
    "load": "fitting.emulator",
    "rng_for": "seeding",
    "saltelli": "analysis.sensitivity",
    "sample": "inference.mcmc",
}

__all__ = sorted(_PLACES)


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"rftune has no {name!r}; its public names are {', '.join(__all__)}")
    return getattr(import_module(f"rftune.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
