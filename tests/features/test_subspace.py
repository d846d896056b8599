"""The authors' family, C = Q S Qᵀ + ε I, against its dense definition."""

from statistics import NormalDist

import numpy as np
import pytest

from reference import make_structure
from rftune.features.families.subspace import Subspace
from rftune.features.family import Space
from rftune.settings import Normal


def space(size=4, rank=2):
    return Space(size, rank, size, Normal(0.0, 1.0))


def values(size=4, rank=2, seed=0):
    rng = np.random.default_rng(seed)
    return {"loadings": rng.standard_normal((size, rank)), "strengths": rng.uniform(0.5, 3.0, rank)}


def gram_schmidt(matrix):
    """Orthonormal columns, each the part of a column that those before it do not span."""
    columns = []
    for column in matrix.T:
        rest = column - sum((column @ q) * q for q in columns)
        columns.append(rest / np.linalg.norm(rest))
    return np.column_stack(columns)


@pytest.mark.parametrize(("size", "rank"), [(4, 1), (4, 2), (4, 4), (1, 1)])
def test_that_the_scatter_is_the_dense_definition(size, rank):
    given = values(size, rank)
    q = gram_schmidt(given["loadings"])
    expected = sum(
        s * np.outer(column, column) for s, column in zip(given["strengths"], q.T, strict=True)
    ) + 0.01 * np.eye(size)
    np.testing.assert_allclose(Subspace(epsilon=0.01).scatter(given), expected, atol=1e-12)


def test_that_draws_have_that_covariance():
    family, given = Subspace(epsilon=0.05), values()
    n = 200_000
    latent = np.random.default_rng(1).standard_normal((n, family.latent_size(space())))
    drawn = family.draw(given, latent, np.random.default_rng(2))
    expected = family.scatter(given)
    # the standard error of a covariance of normals is √((C_ii C_jj + C_ij²)/n)
    error = np.sqrt((np.outer(np.diag(expected), np.diag(expected)) + expected**2) / n)
    assert (np.abs(np.cov(drawn.T) - expected) < 5 * error).all()


def test_that_full_rank_and_no_epsilon_leave_the_strengths_as_eigenvalues():
    given = values(3, 3)
    eigenvalues = np.linalg.eigvalsh(Subspace(epsilon=1e-14).scatter(given))
    np.testing.assert_allclose(np.sort(eigenvalues), np.sort(given["strengths"]), rtol=1e-9)


def test_that_only_the_directions_of_the_columns_matter_each_beside_those_before_it():
    """U and U R have the same C for every upper triangular R with positive diagonal."""
    family, given = Subspace(), values(5, 3)
    triangle = np.triu(np.random.default_rng(4).standard_normal((3, 3)))
    triangle[np.diag_indices(3)] = np.abs(triangle[np.diag_indices(3)]) + 0.5
    other = {**given, "loadings": given["loadings"] @ triangle}
    np.testing.assert_allclose(family.scatter(other), family.scatter(given), atol=1e-10)
    latent = np.random.default_rng(5).standard_normal((7, 8))
    np.testing.assert_allclose(
        family.draw(other, latent, np.random.default_rng(0)), family.draw(given, latent, np.random.default_rng(0))
    )


@pytest.mark.parametrize(("n_inputs", "n_outputs", "rank", "count"), [(3, 1, 3, 13), (3, 3, 4, 41), (5, 42, 3, 634)])
def test_that_there_are_as_many_parameters_as_the_authors_had(n_inputs, n_outputs, rank, count):
    assert make_structure("subspace", n_inputs, n_outputs, rank).n_parameters == count


def test_that_a_separable_structure_has_one_on_each_side():
    structure = make_structure("subspace", 3, 2, (2, 1))
    rng = np.random.default_rng(6)
    given = structure.constrain(0.3 * rng.standard_normal(structure.n_parameters))
    family = Subspace()
    inner = family.scatter({name: given[f"input_{name}"] for name in ("loadings", "strengths")})
    outer = family.scatter({name: given[f"output_{name}"] for name in ("loadings", "strengths")})
    np.testing.assert_allclose(structure.scatter(given), np.kron(outer, inner))
    assert structure.draw(given, 5, rng).shape == (5, 2, 3)


def test_that_most_of_the_prior_of_the_strengths_is_where_the_paper_says():
    mean, std = Subspace().log_strength
    low, high = np.exp(mean - 2.5758 * std), np.exp(mean + 2.5758 * std)
    assert (low, high) == (pytest.approx(1e-3, rel=0.02), pytest.approx(1e3, rel=0.02))


def test_that_the_printed_prior_is_the_familys_own():
    """99 % of ς and of the entries of S lie in 1e-3 to 1e3, relative to the data's variance for ς."""
    structure = make_structure("subspace", 3, 1, 2)
    priors = {parameter.name: parameter.prior for parameter in structure.parameters}
    for name in ("amplitude", "strengths"):
        assert NormalDist(*priors[name]).inv_cdf(0.995) == pytest.approx(np.log(1e3), abs=0.01)
    own = make_structure("subspace", 3, 1, 2, prior={"amplitude": Normal(1.0, 0.5)})
    assert own.parameters[0].prior == Normal(1.0, 0.5)
    assert make_structure("lowrank", 3, 1, 2).parameters[0].prior == Normal(0.0, 1.5)
