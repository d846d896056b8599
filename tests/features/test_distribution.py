"""Structures: parameters, priors, and the distribution that the draws really have."""

from itertools import product
from textwrap import dedent

import numpy as np
import pytest
from pydantic import ValidationError

from reference import add_kind, draw_features, make_structure
from rftune.features.distribution import Nonseparable, Prior, Separable, Tails
from rftune.features.family import FAMILIES
from rftune.features.settings import FeatureSettings
from rftune.settings import Normal

CASES = [
    ("lowrank", 3, 1, 2),
    ("lowrank", 3, 2, None),
    ("lowrank", 3, 2, (2, 1)),
    ("perturbation", 3, 1, 3),
    ("perturbation", 2, 2, 1),
    ("perturbation", 2, 3, (1, 2)),
    ("diagonal", 4, 1, None),
    ("diagonal", 2, 3, None),
    ("sparse", 4, 1, None),
    ("sparse", 2, 3, None),
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
        ("sparse", 20, 1, None, 41),  # 2dp + 1
        ("sparse", 3, 3, None, 19),
    ],
)
def test_that_parameter_counts_are_the_documented_ones(name, n_inputs, n_outputs, rank, count):
    structure = make_structure(name, n_inputs, n_outputs, rank)
    assert structure.n_parameters == count
    assert structure.prior_mean.shape == structure.prior_std.shape == (count,)


def assert_moments(draws, covariance):
    """Mean zero and the stated covariance, each within five standard errors, which the draws tell."""
    products = draws[:, :, None] * draws[:, None, :]
    tolerance = 5 * products.std(axis=0) / np.sqrt(len(draws)) + 1e-12
    assert (np.abs(products.mean(axis=0) - covariance) < tolerance).all()
    assert (np.abs(draws.mean(axis=0)) < 5 * draws.std(axis=0) / np.sqrt(len(draws)) + 1e-12).all()


def with_large_loadings(name):
    """A family that is far from a diagonal one where it can be."""
    has_loadings = "loading_std" in FAMILIES[name].model_fields
    return FAMILIES.read({"name": name, "loading_std": 0.7} if has_loadings else name)


@pytest.mark.parametrize(("name", "n_inputs", "n_outputs", "rank"), CASES)
def test_that_draws_have_the_stated_covariance(name, n_inputs, n_outputs, rank):
    structure = make_structure(with_large_loadings(name), n_inputs, n_outputs, rank)
    rng = np.random.default_rng(8)
    values = structure.constrain(
        structure.prior_mean + structure.prior_std * rng.standard_normal(structure.n_parameters)
    )
    n_draws = 40_000
    frequencies = structure.draw(values, n_draws, rng)
    assert frequencies.shape == (n_draws, n_outputs, n_inputs)
    flat = frequencies.reshape(n_draws, -1)
    expected = structure.covariance(values)
    assert_moments(flat, expected)


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
    prior = Prior(amplitude=Normal(0.5, 1.5), log_scale=Normal(-1.0, 0.7))
    structure = make_structure({"name": "lowrank", "loading_std": 0.2}, 2, 1, 1, prior=prior)
    np.testing.assert_array_equal(structure.prior_mean, [0.5, -1.0, -1.0, 0.0, 0.0])
    np.testing.assert_array_equal(structure.prior_std, [1.5, 0.7, 0.7, 0.2, 0.2])


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("lowrank", 3, 2, 7), {}, "rank must be between 1 and 6, .* got 7"),
        (("perturbation", 3, 1, 4), {}, "rank must be between 1 and 3"),
        (("lowrank", 3, 2, (4, 1)), {}, "rank must be between 1 and 3"),
        (("lowrank", 3, 2, (3, 3)), {}, "rank must be between 1 and 2"),
        (("diagonal", 3, 1, 2), {}, "the diagonal family has no rank"),
        (("sparse", 3, 1, 2), {}, "the sparse family has no rank"),
        (("sparse", 3, 2, (3, 1)), {}, "the sparse family has no rank"),
        (("lowrank", 3, 2, 2), {"separable": True}, "a separable structure has a pair of ranks"),
        (("lowrank", 3, 1, 2), {"max_rank": 10}, "max_rank .* got 10 beside rank 2"),
        (("cauchy", 3, 1, 2), {}, "name must be one of diagonal, lowrank, .*, subspace; got 'cauchy'"),
    ],
)
def test_that_impossible_structures_are_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        make_structure(*arguments, **options)


def test_that_bad_values_are_refused():
    structure = make_structure("diagonal", 2, 1)
    with pytest.raises(ValueError, match="scales must be positive"):
        structure.unconstrain({"amplitude": 1.0, "scales": [1.0, 0.0]})
    with pytest.raises(ValueError, match=r"scales must have shape \(2,\); got \(3,\)"):
        structure.unconstrain({"amplitude": 1.0, "scales": np.ones(3)})
    with pytest.raises(ValueError, match="expected 3 parameters"):
        structure.constrain(np.zeros(4))
    sparse = make_structure("sparse", 2, 1)
    for outside in (0.0, 1.0, np.nan):
        with pytest.raises(ValueError, match="inclusion must be between 0 and 1"):
            sparse.unconstrain({"amplitude": 1.0, "scales": np.ones(2), "inclusion": [0.5, outside]})


SPHERICAL = dedent(
    """
    import numpy as np
    from rftune.features.family import Family, Parameter

    class Spherical(Family):
        has_rank = False

        def parameters(self, space):
            return (Parameter("scales", (space.size,), "log", space.log_scale),)

        def draw(self, values, latent, rng):
            return values["scales"] * latent / np.linalg.norm(latent, axis=-1, keepdims=True)

        def scatter(self, values):
            return np.full((len(values["scales"]), len(values["scales"])), np.nan)
    """
)


def test_that_a_family_is_added_with_one_file(monkeypatch, tmp_path):
    add_kind(monkeypatch, tmp_path, "rftune.features.families", "spherical", SPHERICAL)
    structure = make_structure("spherical", 2, 1)
    assert isinstance(structure, Nonseparable)
    draws = structure.draw(structure.constrain(structure.prior_mean), 100, np.random.default_rng(0))
    np.testing.assert_allclose(np.linalg.norm(draws, axis=2), 1.0)


def test_that_inclusion_probabilities_start_at_the_active_inputs():
    sparse = {"name": "sparse", "active_inputs": 3.0, "inclusion_std": 0.5}
    for n_inputs, n_outputs, expected in ((20, 1, 0.15), (6, 4, 0.5), (2, 1, 0.75), (1, 2, 0.75)):
        structure = make_structure(sparse, n_inputs, n_outputs)
        inclusion = structure.constrain(structure.prior_mean)["inclusion"]
        np.testing.assert_allclose(inclusion, np.full(n_inputs * n_outputs, expected))
        np.testing.assert_array_equal(structure.prior_std[-n_inputs:], 0.5)


def test_that_extreme_logits_are_probabilities():
    structure = make_structure("sparse", 2, 1)
    values = structure.constrain(np.array([0.0, 0.0, 0.0, -1e4, 1e4]))
    np.testing.assert_array_equal(values["inclusion"], [0.0, 1.0])
    draws = structure.draw(values, 50, np.random.default_rng(0))
    assert (draws[..., 0] == 0).all()
    assert (draws[..., 1] != 0).all()


def test_that_sparse_features_are_masked_at_random_and_independently():
    structure = make_structure("sparse", 2, 2)
    inclusion = np.array([0.1, 0.5, 0.8, 0.3])
    values = {"amplitude": np.array(1.0), "scales": np.ones(4), "inclusion": inclusion}
    kept = (structure.draw(values, 20_000, np.random.default_rng(3)) != 0).reshape(-1, 4)
    both = np.where(np.eye(4, dtype=bool), inclusion, np.outer(inclusion, inclusion))
    standard_error = np.sqrt(both * (1 - both) / len(kept))
    assert (np.abs(kept.T.astype(float) @ kept / len(kept) - both) < 5 * standard_error).all()


@pytest.mark.parametrize("mask", ["shared", "per_output"])
def test_that_a_separable_sparse_structure_masks_inputs(mask):
    structure = make_structure({"name": "sparse", "mask": mask}, 3, 2, separable=True)
    assert isinstance(structure, Separable)
    assert [p.name for p in structure.parameters] == ["amplitude", "input_scales", "input_inclusion", "output_scales"]
    values = structure.constrain(structure.prior_mean + np.linspace(-0.5, 0.5, structure.n_parameters))
    draws = structure.draw(values, 20_000, np.random.default_rng(5))
    assert_moments(draws.reshape(-1, 6), structure.covariance(values))
    kept = draws != 0
    together = (kept[:, 0] == kept[:, 1]).all(axis=1).mean()
    assert together == 1.0 if mask == "shared" else together < 0.5


def test_that_separable_is_what_a_pair_of_full_ranks_asks_for():
    by_rank = make_structure("lowrank", 3, 2, (3, 2))
    by_name = make_structure("lowrank", 3, 2, separable=True)
    assert by_name.parameters == by_rank.parameters
    capped = make_structure("lowrank", 3, 2, separable=True, max_rank=2)
    assert capped.parameters == make_structure("lowrank", 3, 2, (2, 2)).parameters


@pytest.mark.parametrize(("n_inputs", "rank"), [(3, 3), (20, 10)])
def test_that_a_largest_rank_caps_full_rank_where_there_is_one(n_inputs, rank):
    capped = make_structure("lowrank", n_inputs, 1, max_rank=10)
    assert capped.parameters == make_structure("lowrank", n_inputs, 1, rank).parameters
    for name in ("diagonal", "sparse"):
        assert make_structure(name, n_inputs, 1, max_rank=10).parameters == make_structure(name, n_inputs, 1).parameters


LAG = np.array([0.9, -0.4, 0.6])
SCALES = np.array([0.7, 1.5, 0.4])
INCLUSION = np.array([0.2, 0.5, 0.9])
# Characteristic functions at distance r ≥ 0 of a normal number times s: E exp(-s²r²/2). A Student t with ν = 3 has
# ν s⁻² ~ χ²_ν, so that it is (√ν r)^(ν/2) K_(ν/2)(√ν r) up to a constant: Matérn-3/2 with unit lengthscale.
CHARACTERISTIC = {
    "normal": lambda r: np.exp(-(r**2) / 2),
    "student": lambda r: (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r),
    "cauchy": lambda r: np.exp(-r),
    "laplace": lambda r: 1 / (1 + r**2),
}


def limiting_kernel(name, draw):
    """The kernel of unit variance that the structure's Fourier features approach, at LAG."""
    characteristic = CHARACTERISTIC[draw.tail]
    u = np.abs(SCALES * LAG)
    if draw.tail == "normal" or draw.mixing == "independent":
        factors = characteristic(u)
        return np.prod(factors if name == "diagonal" else 1 - INCLUSION + INCLUSION * factors)
    if name == "diagonal":
        return characteristic(np.sqrt(np.sum(u**2)))
    masks = np.array(list(product([0, 1], repeat=3)))
    weights = np.prod(np.where(masks, INCLUSION, 1 - INCLUSION), axis=1)
    return weights @ characteristic(np.sqrt(masks @ u**2))


@pytest.mark.parametrize("name", ["diagonal", "sparse"])
@pytest.mark.parametrize("mixing", ["joint", "independent"])
@pytest.mark.parametrize("tail", CHARACTERISTIC)
def test_that_fourier_features_approach_the_closed_form_kernel(name, tail, mixing):
    draw = Tails(tail=tail, degrees_of_freedom=3.0, mixing=mixing)
    structure = make_structure(name, 3, 1, draw=draw)
    values = {"amplitude": np.array(0.8), "scales": SCALES, "inclusion": INCLUSION}
    n_features = 40_000
    drawn = draw_features(
        structure, structure.unconstrain(values), n_features, np.array([1.5]), np.random.default_rng(11)
    )
    left, right = drawn.evaluate(np.stack([np.ones(3), np.ones(3) + LAG]))
    # ς/2 = var(y)·exp(a): each feature's product is one draw whose expectation is the kernel.
    expected = 1.5 * 0.8 * limiting_kernel(name, draw)
    assert abs(np.mean(left * right) - expected) < 5 * np.std(left * right) / np.sqrt(n_features)


@pytest.mark.parametrize("mixing", ["joint", "independent"])
@pytest.mark.parametrize(("tail", "degrees_of_freedom"), [("student", 9.0), ("laplace", 3.0)])
def test_that_heavy_tails_scale_the_scatter(tail, degrees_of_freedom, mixing):
    draw = Tails(tail=tail, degrees_of_freedom=degrees_of_freedom, mixing=mixing)
    structure = make_structure(with_large_loadings("lowrank"), 2, 2, (2, 1), draw=draw)
    values = structure.constrain(structure.prior_mean + 0.3)
    expected = {"student": 9 / 7, "laplace": 2.0}[tail] * structure.scatter(values)
    np.testing.assert_allclose(structure.covariance(values), expected)
    assert_moments(structure.draw(values, 40_000, np.random.default_rng(2)).reshape(-1, 4), expected)


@pytest.mark.parametrize("draw", [Tails(tail="cauchy"), Tails(tail="student", degrees_of_freedom=2.0)])
def test_that_a_covariance_that_does_not_exist_is_refused(draw):
    structure = make_structure("diagonal", 2, 1, draw=draw)
    values = structure.constrain(structure.prior_mean)
    with pytest.raises(ValueError, match=f"{draw.tail} tail have no covariance .* use scatter"):
        structure.covariance(values)
    np.testing.assert_array_equal(structure.scatter(values), np.eye(2))


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"draw": {"tail": "pareto"}}, "draw.tail"),
        ({"draw": {"mixing": "both"}}, "draw.mixing"),
        ({"draw": {"tail": "student", "degrees_of_freedom": 0.0}}, "draw.degrees_of_freedom"),
        ({"family": {"name": "sparse", "mask": "none"}}, "family.mask"),
        ({"family": {"name": "sparse", "active_inputs": 0.0}}, "family.active_inputs"),
        ({"prior": {"amplitude": Normal(0.0, 0.0)}}, "prior.amplitude.std"),
        ({"prior": {"log_scale": [np.nan, 1.0]}}, "prior.log_scale.0"),
        ({"family": "perturbation", "rank": 0}, "rank"),
        ({"max_rank": 0}, "max_rank"),
    ],
)
def test_that_impossible_settings_are_refused_by_name(options, field):
    with pytest.raises(ValidationError, match=rf"(?m)^{field}\b"):
        FeatureSettings(**options)
