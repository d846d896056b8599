"""The inverse problem of the tuning: observation z, random forward map G(u), noise covariance Γ.

For each validation fold Ω^c with training part Ω the forward map stacks the posterior mean at the validation inputs,
‖β‖/√M and √logdet(G_M + I), all conditioned on Ω only; z stacks the validation outputs and two zeros (the paper's
eq. pto_rf_hyp). The data are scaled beforehand (`scaling.Scaling`), so the observation noise is the identity.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from rftune import memory
from rftune.data import Array, Dataset
from rftune.features import kernels
from rftune.features.drawn import Features
from rftune.features.products import BLOCK_ROWS, Products, products
from rftune.features.settings import FeatureSettings
from rftune.regression import held_out, weight_space
from rftune.settings import Field, Settings

# Beyond this ratio of output variance to noise variance float32 Gram matrices lose the noise: their rounding, about
# 1e-7 of the largest eigenvalue, reaches the size of the identity that is added to them.
FLOAT32_MAX_SIGNAL_TO_NOISE = 1e4
UNIT = np.ones(1)  # amplitude of shared features while they are made


class ObjectiveSettings(Settings):
    """How hyperparameters are judged."""

    n_features: int = Field(150, ge=1, description="M, features drawn for each evaluation")
    validation_fraction: float = Field(0.2, ge=1e-6, lt=1, description="share of the data in one validation fold")
    n_folds: int = Field(2, ge=1, description="disjoint validation folds that are stacked")
    rows: Literal["full", "validation"] = Field(
        "full", description="the paper's objective, or without the rows ‖β‖/√M and √logdet that regularise"
    )
    noise_draws: int = Field(
        20, ge=2, le=100_000, description="evaluations at the prior mean from which the covariance Γ is estimated"
    )
    precision: Literal["float64", "float32"] = Field(
        "float64", description="of features and Gram matrices; the solves are in float64"
    )

    @model_validator(mode="after")
    def _check_folds(self) -> Self:
        if self.n_folds * self.validation_fraction > 1.0 + 1e-12:
            raise ValueError(
                f"folds must not overlap: n_folds × validation_fraction ≤ 1; "
                f"got {self.n_folds} × {self.validation_fraction}"
            )
        return self

    def n_data(self, n_samples: int, n_outputs: int) -> int:
        """Entries of z."""
        return self.n_folds * (self.fold_size(n_samples) * n_outputs + (2 if self.rows == "full" else 0))

    def check(self, n_samples: int, n_outputs: int) -> None:
        """Raise a ValueError when the settings do not fit data of this size."""
        n_data, n_features = self.n_data(n_samples, n_outputs), self.n_features
        numbers = n_features * ((2 + self.n_folds) * n_features + n_data)
        memory.check(numbers, f"tuning with {n_features} features", "lower tuning.n_features")
        memory.check(n_data * self.noise_draws, f"{self.noise_draws} draws of the noise", "lower tuning.noise_draws")

    def fold_size(self, n_samples: int) -> int:
        """Number of samples in one validation fold; an error when the data are too few."""
        size = int(np.floor(n_samples * self.validation_fraction + 1e-9))
        if size < 1 or size >= n_samples:
            needed = int(np.ceil(1.0 / min(self.validation_fraction, 1.0 - self.validation_fraction)))
            raise ValueError(
                f"{n_samples} samples are too few for validation folds of {self.validation_fraction:.0%} of the data: "
                f"provide at least {needed} samples or change validation_fraction"
            )
        return size


class Workspace:
    """Buffers of one worker: fresh memory costs more than the arithmetic that fills it.

    Attributes
    ----------
    folds : (n_folds, fold_rows, n_features)
        Features at the rows of every validation fold; these and the next four are in the type of the features.
    block : (n_rows, n_features)
        Features at other rows, a block of them at a time.
    columns : (n_inputs + 2, n_blocks·n_features)
    block_gram : (n_features, n_features)
    block_projected : (n_features, n_targets)
    grams : (n_folds, n_features, n_features)
        Of every training part; these and the next two are in float64.
    projected : (n_folds, n_features, n_targets)
    fold_gram : (n_features, n_features)
    for_products
        What `kernels.fold_products` fills, in its order.
    """

    def __init__(self, objective: Objective) -> None:
        n_features, n_folds, dtype = objective.settings.n_features, len(objective.folds), objective.dtype
        n_blocks, n_targets = objective.n_blocks, objective.targets.shape[1]
        fold_rows = len(objective.data.inputs[objective.folds[0]]) * n_blocks
        self.folds: NDArray[Any] = np.empty((n_folds, fold_rows, n_features), dtype)
        self.block: NDArray[Any] = np.empty((max(BLOCK_ROWS, n_blocks), n_features), dtype)
        self.columns: NDArray[Any] = np.empty((objective.data.n_inputs + 2, n_blocks * n_features), dtype)
        self.block_gram: NDArray[Any] = np.empty((n_features, n_features), dtype)
        self.block_projected: NDArray[Any] = np.empty((n_features, n_targets), dtype)
        self.grams = np.empty((n_folds, n_features, n_features))
        self.projected = np.empty((n_folds, n_features, n_targets))
        self.fold_gram = np.empty((n_features, n_features))
        made_with = (self.block, self.columns, self.block_gram, self.block_projected)
        self.for_products = (self.folds, *made_with, self.grams, self.projected)


class Objective:
    """z and G(u) for one scaled data set and one partition into folds.

    Parameters
    ----------
    data
        Scaled: standardised inputs, centred outputs, unit noise.
    features
        Whose distribution's hyperparameters are judged.
    settings
    rng
        Draws the partition.
    """

    def __init__(
        self, data: Dataset, features: FeatureSettings, settings: ObjectiveSettings, rng: np.random.Generator
    ) -> None:
        fold_size = settings.fold_size(data.n_samples)
        self.features, self.settings = features, settings
        self.structure = features.structure(data.n_inputs, data.n_outputs)
        # Validation folds come first, one after the other, so that every fold is a contiguous block of rows.
        order = rng.permutation(data.n_samples)
        self.data = Dataset(data.inputs[order], data.outputs[order])
        self.folds = [slice(k * fold_size, (k + 1) * fold_size) for k in range(settings.n_folds)]
        self.n_blocks = data.n_outputs if features.outputs == "native" else 1
        self.output_variance: Array = data.outputs.var(axis=0)
        self.dtype = np.dtype(settings.precision)
        self._check_precision()
        self.inputs = np.array(self.data.inputs, self.dtype, order="C")
        outputs = np.array(self.data.outputs, self.dtype, order="C")
        # in the layout of the features: a row per feature row
        self.targets = outputs.reshape(-1, 1) if features.outputs == "native" else outputs
        self.target = np.concatenate([self._observation(fold) for fold in self.folds])

    @property
    def n_data(self) -> int:
        return len(self.target)

    @property
    def fold_rows(self) -> int:
        """Entries of z that belong to one fold."""
        return self.n_data // len(self.folds)

    def _check_precision(self) -> None:
        largest = float(self.output_variance.max())
        if self.settings.precision == "float32" and largest > FLOAT32_MAX_SIGNAL_TO_NOISE:
            raise ValueError(
                f"float32 is unsafe here: output variance / noise variance is {largest:.1e}, at most "
                f"{FLOAT32_MAX_SIGNAL_TO_NOISE:.0e} is: use precision float64"
            )

    def _observation(self, fold: slice) -> Array:
        validation = self.data.outputs[fold].ravel()
        return np.concatenate([validation, np.zeros(2)]) if self.settings.rows == "full" else validation

    def validation_part(self, values: Array) -> Array:
        """The entries of z or G(u) that belong to validation outputs, (..., n_folds·fold_size·n_outputs)."""
        by_fold = values.reshape(*values.shape[:-1], len(self.folds), self.fold_rows)
        kept = by_fold[..., :-2] if self.settings.rows == "full" else by_fold
        return kept.reshape(*values.shape[:-1], -1)

    def draw_features(self, parameters: Array, rng: np.random.Generator) -> Features:
        """One draw of M features at unconstrained parameters."""
        n_features = self.settings.n_features
        return self.features.sample(self.structure, parameters, n_features, self.output_variance, rng)

    def evaluate(self, parameters: Array, rng: np.random.Generator, workspace: Workspace | None = None) -> Array:
        """One realisation of G(u), (n_data,); NaN where the linear algebra fails.

        Parameters
        ----------
        parameters : (structure.n_parameters,)
            Unconstrained.
        rng
            Draws the features; one draw serves all folds.
        workspace
            Reused buffers, one per thread.
        """
        workspace = workspace or Workspace(self)
        with np.errstate(over="ignore", invalid="ignore"):
            drawn = self.draw_features(parameters, rng)
            if drawn.feature_map.is_cosine and kernels.fold_products is not None:
                values = self._without_lock(drawn, workspace)
                if values is not None:
                    return values
            return self._plainly(drawn, workspace)

    def _without_lock(self, drawn: Features, workspace: Workspace) -> Array | None:
        """G(u) for one draw of cosine features, in compiled code; None where the linear algebra fails."""
        native, values = drawn.outputs == "native", np.empty(self.n_data)
        inputs, draw = (self.inputs, self.targets), (drawn.weights, drawn.biases, drawn.amplitude if native else UNIT)
        kernels.fold_products(*inputs, *draw, *workspace.for_products)
        training, fold_values = (workspace.grams, workspace.projected), (self.settings.rows == "full", values)
        if native:
            solved = held_out.held_out_native(*training, workspace.folds, *fold_values)
        else:
            solved = held_out.held_out_shared(*training, drawn.amplitude, workspace.folds, *fold_values)
        return values if solved else None

    def _plainly(self, drawn: Features, workspace: Workspace) -> Array:
        """G(u) for one draw of any features, with NumPy and SciPy; NaN where the linear algebra fails."""
        failed = np.full(self.n_data, np.nan)
        if not (np.isfinite(drawn.weights).all() and np.isfinite(drawn.amplitude).all()):
            return failed
        stacked = []
        try:
            for training, phi in zip(self._training_products(drawn, workspace), workspace.folds, strict=True):
                mean, coefficients, logdet = _conditioned(drawn, training, phi)
                stacked.append(mean.ravel())
                if self.settings.rows == "full":
                    norm = np.linalg.norm(coefficients) / np.sqrt(drawn.n_features)
                    stacked.append(np.array([norm, np.sqrt(max(logdet, 0.0))]))
        except np.linalg.LinAlgError:
            return failed
        return np.concatenate(stacked, dtype=np.float64)

    def _training_products(self, drawn: Features, workspace: Workspace) -> list[Products]:
        """Products of each fold's training part, in the workspace, which holds the folds' features too.

        What all training parts share is made once; then every fold is added to the training parts of the others.
        """
        grams, n_folds = workspace.grams, len(self.folds)
        rest = slice(self.folds[-1].stop, self.data.n_samples)
        shared = self._products(drawn, rest, workspace.block, workspace.block_gram, grams[0])
        grams[1:] = grams[0]
        projected = np.repeat(shared.projected[None], n_folds, axis=0)
        for index, (rows, buffer) in enumerate(zip(self.folds, workspace.folds, strict=True)):
            own = self._products(drawn, rows, buffer, workspace.block_gram, workspace.fold_gram)
            for other in range(n_folds):
                if other != index:
                    grams[other] += own.gram
                    projected[other] += own.projected
        return [Products(*pair) for pair in zip(grams, projected, strict=True)]

    def _products(
        self, drawn: Features, rows: slice, buffer: NDArray[Any], scratch: NDArray[Any], out: Array
    ) -> Products:
        targets = self.targets[rows.start * self.n_blocks : rows.stop * self.n_blocks]
        return products(drawn.evaluate, self.inputs[rows], targets, buffer, scratch, out)

    def noise_covariances(
        self, rng: np.random.Generator, evaluate: Callable[[Array, np.random.Generator], Array] | None = None
    ) -> list[Array]:
        """Γ of each fold: Ledoit-Wolf estimate of Cov G(u†) at the prior mean u†, plus the identity.

        The identity is the noise of the scaled validation outputs and the paper's I₂ for the two regularising rows.

        Parameters
        ----------
        rng
        evaluate
            Evaluates many points (`workers.Workers`); one after the other when None.
        """
        points = np.tile(self.structure.prior_mean, (self.settings.noise_draws, 1))
        draws = (evaluate or self._evaluate_each)(points, rng)
        if not np.isfinite(draws).all():
            raise ValueError(
                "the objective is not finite at the prior mean: check the priors and the scaling of the data"
            )
        size = self.fold_rows
        blocks = [draws[:, k * size : (k + 1) * size] for k in range(len(self.folds))]
        return [ledoit_wolf(block) + np.eye(size) for block in blocks]

    def _evaluate_each(self, points: Array, rng: np.random.Generator) -> Array:
        workspace, streams = Workspace(self), rng.spawn(len(points))
        return np.stack([self.evaluate(*pair, workspace) for pair in zip(points, streams, strict=True)])


def ledoit_wolf(draws: Array) -> Array:
    """Covariance of draws (n_draws, n_rows), shrunk to a multiple of the identity (Ledoit & Wolf 2004).

    The formula is scikit-learn's, whose import takes longer than a small tuning and which sums over all pairs of rows;
    here sums of squares over pairs are taken from the n_draws × n_draws Gram matrix.
    """
    n_draws, n_rows = draws.shape
    centred = draws - draws.mean(axis=0)
    squares = np.sum(centred**2, axis=1)
    mean_variance = squares.sum() / (n_draws * n_rows)
    of_pairs = np.sum((centred @ centred.T) ** 2) / n_draws**2  # ‖S‖² of the empirical covariance S
    distance = of_pairs - n_rows * mean_variance**2  # ‖S - mean variance · I‖²
    error = min((np.sum(squares**2) / n_draws - of_pairs) / n_draws, distance)  # of S
    shrinkage = error / distance if error > 0 else 0.0
    covariance: Array = (1.0 - shrinkage) / n_draws * (centred.T @ centred)
    covariance.flat[:: n_rows + 1] += shrinkage * mean_variance
    return covariance


def _conditioned(drawn: Features, training: Products, phi: NDArray[Any]) -> tuple[Array, Array, float]:
    """Posterior mean at the rows of ``phi``, coefficients β and logdet(G + I), conditioned on the training products.

    The training products are overwritten, and the mean is in the precision of the features.
    With shared features the squared norms and the log determinants of the outputs add up.
    """
    if drawn.outputs == "native":
        coefficients, chol_lower = weight_space.solve_native(training.gram, training.projected[:, 0], out=training.gram)
        logdet = 2.0 * float(np.log(np.diagonal(chol_lower)).sum())
        return phi @ (coefficients / drawn.n_features).astype(phi.dtype), coefficients, logdet
    coefficients, _, shrinkage = weight_space.solve_shared(training.gram, training.projected, drawn.amplitude)
    scaled = coefficients * np.sqrt(drawn.amplitude) / drawn.n_features
    return phi @ scaled.astype(phi.dtype), coefficients, -float(np.log(shrinkage).sum())
