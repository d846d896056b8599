"""The column model of the cloud experiment: thermodynamics, transport, budgets, responses and smoothness."""

import importlib.util
import itertools
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import reference_edmf as reference
import rftune
from rftune.analysis import sensitivity
from rftune.experiments.edmf import air, column, kernel, scenarios
from rftune.seeding import rng_for

MEAN = np.array([0.13, 0.51, 0.14, 0.22, 0.40])
LOW, HIGH = np.array(column.BOUNDS).T
SHORT = column.Settings(spin_up_hours=2.0, average_hours=4.0)


def draw_prior(n, seed=0):
    """Parameters with normal logits of unit variance around the image of the prior mean."""
    centre = np.log((MEAN - LOW) / (HIGH - MEAN))
    logits = centre + np.random.default_rng(seed).standard_normal((n, len(MEAN)))
    return LOW + (HIGH - LOW) / (1.0 + np.exp(-logits))


def liquid_water_path(parameters, conditions, settings=None):
    return column.Simulator(conditions, settings).mean(parameters)


@pytest.fixture(scope="module")
def conditions():
    return scenarios.design(50, rng_for(2026, "edmf", "scenarios"))


@pytest.fixture(scope="module")
def simulator(conditions):
    return column.Simulator(conditions)


@pytest.fixture(scope="module")
def few(conditions):
    return conditions.subset(slice(0, None, 5))


def block_of(simulator, parameters=MEAN, n_steps=0):
    """The first block of a simulator after some steps: levels, scalars, grid, step."""
    _, block, scalars = next(reference.blocks(simulator, parameters))
    columns = np.arange(min(kernel.LANES, len(simulator.scenarios)))
    for i in range(n_steps):
        reference.advance(simulator, i, columns, block, scalars)
    return block, scalars, simulator.grid, simulator.settings.step


def fields(block, grid, name):
    return block.reshape(grid.shape[1], -1, kernel.LANES)[1:-1, getattr(kernel, name) // kernel.LANES]


# Thermodynamics


def condense(theta, water, exner, pressure, spread):
    return air.adjust(air.vapour_pressure(exner * theta), theta, water, exner, pressure, spread)


def test_that_the_reciprocal_root_is_right_to_the_last_digits():
    x = 10.0 ** np.random.default_rng(0).uniform(-36.0, 36.0, 2000)
    values = np.array([kernel.reciprocal_root(value) for value in x])
    np.testing.assert_allclose(values, 1.0 / np.sqrt(x), rtol=5e-16)


def test_that_vapour_pressure_is_boltons_formula():
    temperature = np.linspace(240.0, 320.0, 81)
    values = [air.vapour_pressure(t) for t in temperature]
    bolton = 611.2 * np.exp(17.67 * (temperature - 273.15) / (temperature - 29.65))
    np.testing.assert_allclose(values, bolton, rtol=2e-6)  # the error of the polynomial


def test_that_saturation_adjustment_agrees_with_root_finding():
    """One Halley step is of third order, 0.3 % at 2 g kg⁻¹; the rest is the polynomial for the vapour pressure."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        theta, pressure = rng.uniform(285.0, 305.0), rng.uniform(7.5e4, 1.01e5)
        exner = (pressure / 1e5) ** scenarios.KAPPA
        saturation = scenarios.saturation_humidity(np.float64(exner * theta), pressure)
        water = saturation * rng.uniform(0.5, 1.5)
        liquid = condense(theta, water, exner, pressure, 1e-6)[0]
        exact = reference.saturated_liquid(theta, water, exner, pressure)
        assert abs(liquid - exact) <= 2e-6 * saturation + 800.0 * exact**3


def test_that_mean_liquid_is_the_integral_over_the_distribution_of_water():
    theta, exner, pressure, spread = 290.0, 0.97, 9e4, 0.2
    saturation = scenarios.saturation_humidity(np.float64(exner * theta), pressure)
    slope = condense(theta, saturation, exner, pressure, spread)[3] / exner
    gain = 1.0 + air.HEATING * slope
    for humidity in np.linspace(0.75, 1.3, 12):
        liquid, cover, *_ = condense(theta, humidity * saturation, exner, pressure, spread)

        def excess(t, humidity=humidity):
            return (humidity - 1.0 + spread * t) * saturation

        mean = reference.triangular_mean(lambda t: np.maximum(excess(t), 0.0))
        part = reference.triangular_mean(lambda t: (excess(t) > 0.0).astype(float))
        assert cover == pytest.approx(part, abs=2e-4)
        # without the curvature of saturation, which lowers the release by at most 5 % here
        assert 0.95 * mean / gain - 1e-9 <= liquid <= mean / gain * 1.0001 + 1e-9


def test_that_dry_air_does_not_condense_and_keeps_its_heat():
    liquid, cover, _, _, humidity = condense(290.0, 1e-3, 1.0, 1e5, kernel.SPREAD_MEAN)
    assert liquid == cover == 0.0
    assert humidity < 0.1
    assert air.virtual(290.0, 0.0, 0.0, 2500.0) == 290.0


def test_that_buoyancy_coefficients_are_derivatives_of_virtual_temperature():
    """In fully saturated air; the release is a secant of the liquid water, not its tangent: 5 %."""
    theta, exner, pressure, spread = 288.0, 0.96, 8.7e4, 0.05
    water = 1.06 * scenarios.saturation_humidity(np.float64(exner * theta), pressure)
    heating = air.HEATING / exner

    def virtual(theta, water):
        return air.virtual(theta, water, condense(theta, water, exner, pressure, spread)[0], heating)

    liquid, cover, release, slope, _ = condense(theta, water, exner, pressure, spread)
    assert cover == 1.0
    wet = (heating - (1.0 + air.VIRTUAL) * (theta + heating * liquid)) * release
    by_theta = (virtual(theta + 1e-4, water) - virtual(theta - 1e-4, water)) / 2e-4
    by_water = (virtual(theta, water + 1e-7) - virtual(theta, water - 1e-7)) / 2e-7
    assert by_theta == pytest.approx(1.0 + air.VIRTUAL * water - wet * slope, rel=0.05)
    assert by_water == pytest.approx(air.VIRTUAL * theta + wet, rel=0.05)


def test_that_the_air_is_hydrostatic():
    z = np.linspace(100.0, 2400.0, 24)
    gradient = (scenarios.pressure(z + 0.5) - scenarios.pressure(z - 0.5)) / 1.0
    np.testing.assert_allclose(gradient, -air.GRAVITY * column._density(z), rtol=1e-6)


# Transport


@pytest.mark.parametrize("field", ["THETA", "WATER"])
def test_that_transport_equals_the_dense_solution_of_the_fluxes(simulator, field):
    block, scalars, grid, step = block_of(simulator, n_steps=20)
    before = block.copy()
    kernel.advance(block, scalars, grid, step)
    # clouds, turbulence and updraft of the step, with the temperature and water of its start
    start = block.copy()
    for name in ("THETA", "WATER", "TKE"):
        fields(start, grid, name)[...] = fields(before, grid, name)
    for j in (0, 7, kernel.LANES - 1):
        expected = reference.transported(start, scalars, grid, step, j, field)
        np.testing.assert_allclose(fields(block, grid, field)[:, j], expected, rtol=1e-12)


def test_that_still_uniform_dry_air_stays_as_it_is(few):
    """The dry adiabatic limit: no jump, no flux, an updraft without buoyancy whose θ is that of the air."""
    block, scalars, grid, _ = block_of(column.Simulator(few))
    for name, value in (("THETA", 295.0), ("WATER", 1e-5)):
        block.reshape(grid.shape[1], -1, kernel.LANES)[:, getattr(kernel, name) // kernel.LANES] = value
    for name in ("NUDGING", "SUBSIDENCE"):
        fields(block, grid, name)[...] = 0.0
    for name, value in (("SURFACE_THETA", 295.0), ("SURFACE_WATER", 1e-5), ("EXCHANGE", 0.0), ("SINKING", 1.0)):
        scalars[getattr(kernel, name) : getattr(kernel, name) + kernel.LANES] = value
    kernel.advance(block, scalars, grid, 60.0)
    np.testing.assert_allclose(fields(block, grid, "UP_THETA"), 295.0, rtol=1e-13)
    # clear air cools; the updraft, which is of the old temperature, carries a trace of the difference
    cooled, mass = 295.0 - 60.0 * kernel.CLEAR_COOLING, grid[kernel.MASS, 1:-1]
    np.testing.assert_allclose(mass @ fields(block, grid, "THETA") / mass.sum(), cooled, rtol=1e-14)
    np.testing.assert_allclose(fields(block, grid, "THETA"), cooled, atol=1e-3 * (295.0 - cooled))
    np.testing.assert_allclose(fields(block, grid, "STABILITY")[:-1], 0.0, atol=1e-15)
    assert (fields(block, grid, "LIQUID") == 0.0).all()


def test_that_more_entrainment_dries_the_updraft(simulator):
    """In the same air; strictly where the updraft is alive and the air drier than it."""
    water = []
    for factor in (0.0, 0.1, 0.3, 1.0):
        block, _, grid, _ = block_of(simulator, np.array([factor, *MEAN[1:]]), n_steps=1)
        water.append(fields(block, grid, "UP_WATER").copy())
    for less, more in itertools.pairwise(water):
        assert (more <= less + 1e-15).all()
        assert (more < less).any(axis=0).all()


def test_that_more_detrainment_lowers_the_mass_flux(simulator):
    flux = []
    for factor in (0.0, 0.5, 1.0):
        block, _, grid, _ = block_of(simulator, np.array([MEAN[0], factor, *MEAN[2:]]), n_steps=1)
        flux.append(fields(block, grid, "MASS_FLUX").copy())
    for less, more in itertools.pairwise(flux):
        assert (more <= less + 1e-15).all()
        assert (more < less).any()


def test_that_turbulence_responds_to_its_coefficients(simulator):
    """More diffusion mixes more, more dissipation leaves less energy, a longer reach means longer eddies."""
    for index, name, sign in ((2, "MIXING", 1), (3, "TKE", -1), (4, "LENGTH", 1)):
        low, high = (MEAN * np.where(np.arange(5) == index, factor, 1.0) for factor in (0.5, 2.0))
        weak, grid = (block_of(simulator, low, n_steps=1)[i] for i in (0, 2))
        strong = block_of(simulator, high, n_steps=1)[0]
        assert (sign * (fields(strong, grid, name) - fields(weak, grid, name)) >= 0.0).all()


# Budgets


def test_that_water_is_conserved_to_rounding(simulator):
    budget = reference.water_budget(simulator, MEAN)
    column_water = (simulator.grid[kernel.MASS, 1:-1, None] * simulator.profiles[1, 1:-1]).sum(axis=0)
    steps = simulator.settings.n_steps
    assert (np.abs(budget.residual) <= 50 * steps * np.finfo(float).eps * column_water).all()
    assert (budget.surface > 0.1).all()  # the budget is no trivial one
    assert (budget.rain >= 0.0).all()


@pytest.mark.parametrize("parameters", [MEAN, LOW, HIGH, *draw_prior(2), [0, 1, 1, 0.01, 1], [1, 0, 0.01, 1, 0.01]])
def test_that_water_is_never_negative(few, parameters):
    budget = reference.water_budget(column.Simulator(few, SHORT), np.array(parameters))
    assert (budget.smallest >= 0.0).all()
    assert (np.abs(budget.residual) < 1e-11).all()


def test_that_the_column_is_finite_everywhere_in_the_bounds(few):
    corners = np.array(list(itertools.product(*column.BOUNDS)))
    path = liquid_water_path(np.concatenate([corners, (corners + MEAN) / 2.0]), few)
    assert np.isfinite(path).all()
    assert path.min() >= 0.0
    assert path.max() < 1500.0


# Responses


def test_that_scenarios_span_thin_to_thick_cloud(simulator):
    path = simulator.mean(MEAN[None])[0]
    assert path.min() < 20.0
    assert 100.0 < path.max() < 400.0
    assert np.median(path[:15]) > np.median(path[-10:])  # stratocumulus holds more water than cumulus


def test_that_every_output_varies_over_the_prior(simulator):
    path = simulator.mean(draw_prior(60))
    assert (path.std(axis=0) > 0.05 * path.mean(axis=0)).all()


def test_that_every_parameter_matters(conditions):
    design = sensitivity.saltelli(np.array(column.BOUNDS), 64, np.random.default_rng(1), second_order=False)
    path = liquid_water_path(design.points, conditions.subset(slice(1, None, 4)))
    total = [sensitivity.indices(design, y, 2, np.random.default_rng(0)).total for y in path.T]
    assert (np.max(total, axis=0) > 0.02).all()


def test_that_moister_free_air_and_a_stronger_inversion_thicken_the_cloud(conditions):
    """In the mean over stratocumulus scenarios."""
    low_cloud = conditions.subset(slice(0, 15))
    path = liquid_water_path(MEAN[None], low_cloud).mean()
    moister = replace(low_cloud, inversion_water=0.6 * low_cloud.inversion_water)
    stronger = replace(low_cloud, inversion_theta=low_cloud.inversion_theta + 3.0)
    assert liquid_water_path(MEAN[None], moister).mean() > path
    assert liquid_water_path(MEAN[None], stronger).mean() > path


def test_that_the_column_converges_as_the_step_shrinks(conditions):
    """First order in the median over scenarios; near the edge of a regime single scenarios converge more slowly."""
    some = conditions.subset(slice(0, None, 2))
    path = {}
    for step in (1200.0, 600.0, 300.0, 75.0):
        settings = column.Settings(step=step, spin_up_hours=6.0, average_hours=6.0)
        path[step] = liquid_water_path(MEAN[None], some, settings)[0]
    errors = [np.median(np.abs(path[step] / path[75.0] - 1.0)) for step in (1200.0, 600.0, 300.0)]
    assert errors[0] < 0.12
    assert errors[1] < 0.75 * errors[0]
    assert errors[2] < 0.75 * errors[1]


# Digits


def test_that_a_rerun_gives_the_same_digits(few):
    parameters = draw_prior(3)
    np.testing.assert_array_equal(*(liquid_water_path(parameters, few, SHORT) for _ in range(2)))


def test_that_rows_and_scenarios_do_not_know_each_other(conditions):
    parameters = draw_prior(7)
    whole = liquid_water_path(parameters, conditions, SHORT)
    order = np.random.default_rng(3).permutation(7)
    np.testing.assert_array_equal(liquid_water_path(parameters[order], conditions, SHORT), whole[order])
    np.testing.assert_array_equal(liquid_water_path(parameters[4:5], conditions, SHORT), whole[4:5])
    chosen = [44, 3, 17]
    np.testing.assert_array_equal(liquid_water_path(parameters, conditions.subset(chosen), SHORT), whole[:, chosen])


@pytest.mark.parametrize("n_workers", [2, 4])
def test_that_workers_change_no_digit(conditions, n_workers):
    parameters = draw_prior(5)  # 250 columns: the last block is not full
    one, several = (column.Simulator(conditions, SHORT, n_workers=n).series(parameters) for n in (1, n_workers))
    np.testing.assert_array_equal(several, one)


def test_that_a_process_that_compiles_has_the_digits_of_one_that_loads(tmp_path):
    code = """
import numpy
from rftune.experiments.edmf import column, kernel, scenarios
simulator = column.Simulator(scenarios.design(20, numpy.random.default_rng(0)))
print(simulator.series(numpy.array([[0.13, 0.51, 0.14, 0.22, 0.40]])).tobytes().hex(), len(kernel.run.stats.cache_hits))
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "RFTUNE_NUMBA": "1"}
    compiling, loading = (
        subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
        for _ in range(2)
    )
    digits, n_loaded = zip(*(process.stdout.split() for process in (compiling, loading)), strict=True)
    assert n_loaded == ("0", "1")
    assert digits[0] == digits[1]


def test_that_a_change_of_the_air_compiles_the_column_anew(tmp_path):
    """Numba itself looks for changes in a function's own file alone."""
    library = shutil.copytree(Path(rftune.__file__).parent, tmp_path / "rftune")
    code = """
import numpy
from rftune.experiments.edmf import kernel
levels, scalars = numpy.full(kernel.STRIDE, 290.0), numpy.full(kernel.N_SCALARS * kernel.LANES, 290.0)
kernel.lift(levels, scalars, 1.0, 1e5, 2500.0)
print(scalars.sum().hex(), len(kernel.lift.stats.cache_hits))
"""
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path), "RFTUNE_NUMBA": "1"}

    def run():
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env=os.environ | environment, check=True, capture_output=True, text=True)
        return done.stdout.split()

    (first, _), (second, n_loaded) = run(), run()
    assert (second, n_loaded) == (first, "1")
    air_path = library / "experiments/edmf/air.py"
    air_path.write_text(air_path.read_text(encoding="utf-8").replace("9.81", "9.82"), encoding="utf-8")
    changed, n_loaded = run()
    assert n_loaded == "0"
    assert changed != first


def uncompiled(module):
    """A module that is read once more."""
    spec = importlib.util.spec_from_file_location("plain", module.__file__)
    plain = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plain)
    return plain


def test_that_compiled_and_plain_functions_agree(few, monkeypatch):
    monkeypatch.setenv("RFTUNE_NUMBA", "0")
    monkeypatch.setitem(sys.modules, air.__name__, uncompiled(air))
    plain = uncompiled(kernel)
    assert not hasattr(plain.run, "py_func")
    assert not hasattr(plain.virtual, "py_func")
    settings = column.Settings(n_levels=20, spin_up_hours=0.0, average_hours=5 / 3)
    simulator = column.Simulator(few.subset([0, 9]), settings)
    expected = simulator.series(MEAN[None])[0]
    path = np.empty((2, settings.n_times))
    forcing = simulator.profiles, simulator.surface, simulator.swing, simulator.grid
    plain.run(MEAN[None], *forcing, settings.step, path, 0, 2)
    # fused multiply-adds round differently; the difference grows over the steps
    np.testing.assert_allclose(1e3 * path, expected, rtol=1e-10)


# Scenarios, series and messages


def test_that_a_design_belongs_to_its_seed():
    one, two, other = (scenarios.design(8, np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.inversion_height, two.inversion_height)
    assert (one.inversion_height != other.inversion_height).all()
    assert len(one) == 8


def test_that_the_series_averages_to_the_mean_and_fluctuates(simulator):
    series = simulator.series(MEAN[None])
    assert series.shape == (1, 50, simulator.settings.n_times)
    np.testing.assert_array_equal(series.mean(axis=2), simulator.mean(MEAN[None]))
    assert (series.std(axis=2) > 0.01 * series.mean(axis=2)).all()


def test_that_another_realisation_changes_the_weather_and_not_the_climate(few):
    other = few.fluctuate(np.random.default_rng(5))
    np.testing.assert_array_equal(other.wind, few.wind)
    paths = [liquid_water_path(MEAN[None], few.fluctuate(np.random.default_rng(i)))[0] for i in range(6)]
    assert (np.std(paths, axis=0) > 0.0).all()
    ensemble = np.mean(paths, axis=0)
    assert np.corrcoef(ensemble, liquid_water_path(MEAN[None], few)[0])[0, 1] > 0.8


def test_that_forcing_factors_stay_positive(conditions):
    long = column.Settings(spin_up_hours=0.0, average_hours=2400.0)
    swing = column.Simulator(conditions, long).swing
    assert swing.min() > 0.0
    np.testing.assert_allclose((swing / swing.mean(axis=0)).std(axis=0).mean(axis=1), [0.15, 0.3], rtol=0.05)


def test_that_wrong_parameters_are_refused_with_the_remedy(few):
    with pytest.raises(ValueError, match=r"tke_ed_coeff must lie in \[0.01, 1\]; got 0 in row 1: columns are"):
        liquid_water_path([MEAN, MEAN * [1, 1, 0, 1, 1]], few)
    with pytest.raises(ValueError, match=r"parameters must be \(n_samples, 5\); got shape \(5,\): pass x\[None, :\]"):
        liquid_water_path(MEAN, few)
    with pytest.raises(ValueError, match="parameters must be finite"):
        liquid_water_path(MEAN[None] * np.nan, few)


def test_that_wrong_settings_are_refused():
    with pytest.raises(ValueError, match=r"average_hours must be a whole number of steps of 1200\.0 s; got 1\.1 hours"):
        column.Settings(average_hours=1.1)
    with pytest.raises(ValueError, match="average_hours must hold at least one step"):
        column.Settings(average_hours=0.0)
    with pytest.raises(ValueError, match="n_levels must be at least 10"):
        column.Settings(n_levels=3)
    with pytest.raises(ValueError, match="height and step must be positive"):
        column.Settings(step=-1.0)


def test_that_wrong_scenarios_are_refused(few):
    with pytest.raises(ValueError, match=r"wind must hold finite numbers of shape \(10,\).*scenarios.design"):
        replace(few, wind=few.wind[:3])
    with pytest.raises(ValueError, match=r"(?s)surface_temperature must lie between 270 and 310 K.*use kelvin"):
        replace(few, surface_temperature=few.surface_temperature - 273.15)
    with pytest.raises(ValueError, match="inversion_height must exceed mixed_depth"):
        replace(few, inversion_height=few.mixed_depth)
    with pytest.raises(ValueError, match="inversion_water, a drop, must lie between zero and top_water"):
        replace(few, inversion_water=few.top_water)
    with pytest.raises(ValueError, match=r"raise settings.height"):
        column.Simulator(few, column.Settings(height=800.0))
    with pytest.raises(ValueError, match="n_scenarios must be at least 1"):
        scenarios.design(0, np.random.default_rng(0))
