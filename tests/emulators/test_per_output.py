"""Scalar emulators side by side: an output's emulator is that of its data alone."""

import numpy as np
import pytest

from rftune.data import Dataset
from rftune.emulators.base import EMULATORS, Task, Training
from rftune.regression import waves

TUNING = {"n_features": 20, "n_iterations": 2, "optimiser": {"name": "eki", "n_members": 8}}
NOISE = np.diag([0.01, 0.04, 0.09])


def emulator(outputs, tuning=TUNING, **features):
    return EMULATORS.read(
        {
            "kind": "random_features",
            "features": {"family": "diagonal", "outputs": outputs, **features},
            "tuning": tuning,
            "prediction": {"n_features": 30},
        }
    )


def tuned_and_fitted(together, data):
    training = Training(data, NOISE)
    tuned = together.tune(Task(training, np.random.default_rng(1)))
    return tuned, together.fit(training, tuned.result, np.random.default_rng(2))


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    inputs = rng.uniform(-2, 2, (60, 3))
    clean = np.column_stack([np.sin(inputs[:, 0]), inputs[:, 1] * inputs[:, 2], inputs.sum(axis=1)])
    return Dataset(inputs, clean + rng.multivariate_normal(np.zeros(3), NOISE, 60))


def test_that_each_output_is_tuned_and_fitted_on_its_own(data):
    tuned, model = tuned_and_fitted(emulator("separate"), data)
    streams = zip(np.random.default_rng(1).spawn(3), np.random.default_rng(2).spawn(3), strict=True)
    points = data.inputs[:9]
    prediction = model.predict(points)
    for output, (tuning_stream, fitting_stream) in enumerate(streams):
        alone, noise = emulator("native"), NOISE[[output], [output]].reshape(1, 1)
        own = Training(Dataset(data.inputs, data.outputs[:, [output]]), noise)
        result = alone.tune(Task(own, tuning_stream)).result
        np.testing.assert_allclose(tuned.result["parameters"][output], result["parameters"], rtol=1e-6)
        expected = alone.fit(own, result, fitting_stream).predict(points)
        np.testing.assert_allclose(prediction.mean[:, output], expected.mean[:, 0], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(prediction.covariance[:, output, output], expected.covariance[:, 0, 0], rtol=1e-5)
    assert tuned.result["misfit"].dims == ("iteration",)
    assert np.isfinite(tuned.result["objective_ratio"])


def test_that_its_waves_are_its_mean(data):
    _, model = tuned_and_fitted(emulator("separate", tuning=None, untuned_draws=8), data)
    np.testing.assert_allclose(waves.waves_of(model).mean(data.inputs), model.mean(data.inputs), rtol=1e-10, atol=1e-10)
    assert model.sample(data.inputs[:4], 5, np.random.default_rng(3)).shape == (5, 4, 3)


def test_that_a_constant_output_is_no_failure(data):
    constant = Dataset(data.inputs, data.outputs * [1.0, 0.0, 1.0] + [0.0, 3.0, 0.0])
    tuned, model = tuned_and_fitted(emulator("separate"), constant)
    assert tuned.result["failure"].item() == ""
    assert np.isfinite(tuned.result["objective_ratio"])
    np.testing.assert_allclose(model.mean(data.inputs)[:, 1], 3.0)


def test_that_a_failed_output_fails_the_whole_and_is_named(data):
    caught = emulator("separate", {**TUNING, "max_restarts": 0}, prior={"amplitude": [-60.0, 0.1]})
    outcome = caught.tune(Task(Training(data, NOISE), np.random.default_rng(1))).result
    assert outcome["failure"].item().startswith("output 0: ended at the zero predictor")
