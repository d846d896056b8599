"""Structures: parameters, priors, and the distribution that the draws really have."""

import numpy as np
import pytest

from rftune.structures import FAMILIES, Family, Nonseparable, Normal, Parameter, Priors, make_structure

CASES = [
    ("lowrank", 3, 1, 2),
    ("lowrank", 3, 2, None),
    ("lowrank", 3, 2, (2, 1)),
    ("perturbation", 3, 1, 3),
    ("perturbation", 2, 2, 1),
    ("perturbation", 2, 3, (1, 2)),
    ("diagonal", 4, 1, None),
    ("diagonal", 2, 3, None),
]


@pytest.mark.parametrize(
    ("name", "n_inputs", "n_outputs", "rank", "count"),
    [
        ("perturbation", 3, 1, 3, 13),  # Ishigami, SPEC item 4: r·dp + r + 1
        ("perturbation", 3, 3, 4, 41),  # Lorenz
        ("perturbation", 5, 42, 3, 634),  # EDMF
        ("lowrank", 3, 1, 3, 13),  # dp + r·dp + 1
        ("lowrank", 20, 1, 10, 221),
        ("diagonal", 5, 1, None, 6),
        ("diagonal", 3, 3, None, 10),
        ("perturbation", 5, 42, (5, 1), 5 * 5 + 5 + 42 + 1 + 1),
        ("lowrank", 3, 2, (3, 1), (3 + 9) + (2 + 2) + 1),
    ],
)
def test_that_parameter_counts_are_the_documented_ones(name, n_inputs, n_outputs, rank, count):
    structure = make_structure(name, n_inputs, n_outputs, rank)
    assert structure.n_parameters == count
    assert structure.prior_mean.shape == structure.prior_std.shape == (count,)


@pytest.mark.parametrize(("name", "n_inputs", "n_outputs", "rank"), CASES)
def test_that_draws_have_the_stated_covariance(name, n_inputs, n_outputs, rank):
    structure = make_structure(name, n_inputs, n_outputs, rank, Priors(loading_std=0.7))
    rng = np.random.default_rng(8)
    values = structure.constrain(
        structure.prior_mean + structure.prior_std * rng.standard_normal(structure.n_parameters)
    )
    n_draws = 40_000
    frequencies = structure.draw(values, n_draws, rng)
    assert frequencies.shape == (n_draws, n_outputs, n_inputs)
    flat = frequencies.reshape(n_draws, -1)
    expected = structure.covariance(values)
    # Standard error of a sample covariance of normals: sqrt((C_ij² + C_ii C_jj)/n); five of them.
    variances = np.diagonal(expected)
    tolerance = 5 * np.sqrt((expected**2 + np.outer(variances, variances)) / n_draws)
    assert (np.abs(flat.T @ flat / n_draws - expected) < tolerance).all()
    assert (np.abs(flat.mean(axis=0)) < 5 * np.sqrt(variances / n_draws)).all()


def test_that_perturbation_is_the_papers_equation():
    structure = make_structure("perturbation", 3, 1, 2)
    loadings, strengths = np.arange(6.0).reshape(3, 2), np.array([0.5, 2.0])
    factor = np.eye(3) + loadings @ np.diag(strengths) @ loadings.T
    values = {"amplitude": np.array(1.0), "loadings": loadings, "strengths": strengths}
    np.testing.assert_allclose(structure.covariance(values), factor @ factor.T)


def test_that_lowrank_is_a_diagonal_plus_its_loadings():
    structure = make_structure("lowrank", 2, 1, 1)
    values = {"amplitude": np.array(1.0), "scales": np.array([1.0, 2.0]), "loadings": np.array([[3.0], [4.0]])}
    np.testing.assert_allclose(structure.covariance(values), [[10.0, 12.0], [12.0, 20.0]])


@pytest.mark.parametrize(("name", "n_inputs", "n_outputs", "rank"), CASES)
def test_that_coordinates_go_there_and_back(name, n_inputs, n_outputs, rank):
    structure = make_structure(name, n_inputs, n_outputs, rank)
    unconstrained = np.random.default_rng(0).standard_normal(structure.n_parameters)
    values = structure.constrain(unconstrained)
    assert all((values[p.name] > 0).all() for p in structure.parameters if p.transform == "log")
    np.testing.assert_allclose(structure.unconstrain(values), unconstrained, rtol=1e-12)


def test_that_priors_stand_where_they_are_said_to():
    priors = Priors(amplitude=Normal(0.5, 1.5), log_scale=Normal(-1.0, 0.7), loading_std=0.2)
    structure = make_structure("lowrank", 2, 1, 1, priors)
    np.testing.assert_array_equal(structure.prior_mean, [0.5, -1.0, -1.0, 0.0, 0.0])
    np.testing.assert_array_equal(structure.prior_std, [1.5, 0.7, 0.7, 0.2, 0.2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("lowrank", 3, 2, 7), "rank must be between 1 and 6, .* got 7"),
        (("perturbation", 3, 1, 0), "rank must be between 1 and 3"),
        (("lowrank", 3, 2, (4, 1)), "rank must be between 1 and 3"),
        (("lowrank", 3, 2, (3, 3)), "rank must be between 1 and 2"),
        (("diagonal", 3, 1, 2), "the diagonal family has no rank"),
        (("cauchy", 3, 1, 2), "structure must be one of lowrank, perturbation, diagonal; got 'cauchy'"),
    ],
)
def test_that_impossible_structures_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_structure(*arguments)


def test_that_bad_values_are_refused():
    structure = make_structure("diagonal", 2, 1)
    with pytest.raises(ValueError, match="scales must be positive"):
        structure.unconstrain({"amplitude": 1.0, "scales": [1.0, 0.0]})
    with pytest.raises(ValueError, match=r"scales must have shape \(2,\); got \(3,\)"):
        structure.unconstrain({"amplitude": 1.0, "scales": np.ones(3)})
    with pytest.raises(ValueError, match="expected 3 parameters"):
        structure.constrain(np.zeros(4))
    with pytest.raises(ValueError, match="positive std"):
        Normal(0.0, 0.0)


def test_that_a_family_is_added_with_one_class_and_one_entry(monkeypatch):
    class Cauchy(Family):
        def __init__(self, size, rank, priors):
            self.size = self.latent_size = size
            self.parameters = (Parameter("scales", (size,), "log", priors.log_scale),)

        def draw(self, values, latent, rng):
            return values["scales"] * latent / np.abs(rng.standard_normal((*latent.shape[:-1], 1)))

        def covariance(self, values):
            return np.full((self.size, self.size), np.nan)

    monkeypatch.setitem(FAMILIES, "cauchy", Cauchy)
    structure = make_structure("cauchy", 2, 1)
    assert isinstance(structure, Nonseparable)
    draws = structure.draw(structure.constrain(structure.prior_mean), 20_000, np.random.default_rng(0))[:, 0, 0]
    # The median of |Cauchy| with unit scale is 1; its standard error is π/2/√n.
    assert abs(np.median(np.abs(draws)) - 1.0) < 5 * np.pi / 2 / np.sqrt(20_000)
