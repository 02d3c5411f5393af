"""A regression, judged by a metric of its own.

The network's ten logits are read as one number: the expected value of the digit. What counts is its mean absolute error, so
that a 9 taken for an 8 is a small mistake and one taken for a 1 is a large one."""

from pathlib import Path

import numpy as np

import intaglio

examples = Path(__file__).resolve().parents[1]
images, digits, test_images, test_digits = (
    np.load(examples / f"digits_{part}.npy") for part in ("search_images", "search_labels", "test_images", "test_labels")
)


def digit_error(outputs, digits):
    """outputs: float32 [samples, ..., 10]; digits: [samples]."""
    logits = outputs.reshape(len(digits), 10).astype(np.float64)
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    expected = weights @ np.arange(10) / weights.sum(axis=1)
    return np.abs(expected - digits).mean()


model = intaglio.Model(examples / "digits.onnx")
scaled = intaglio.Preprocess(scale=1 / 255)
result = intaglio.search(
    model,
    "cortex-m",
    images,
    digits,
    metric=digit_error,
    larger_is_better=False,
    max_drop=0.02,  # in the metric's unit: two hundredths of a digit worse than float
    trials=40,
    preprocess=scaled,
)
float_bytes = sum(4 * node.weights for node in model.check("float"))
rows = {
    "float": intaglio.uniform(model, "float", 8, preprocess=scaled),
    "8 bits": intaglio.uniform(model, "cortex-m", 8, images, preprocess=scaled),
    "searched": result.best,
}
print(f"{'':10}{'error':>8}{'top-1':>9}{'weight bytes':>14}")
for name, strategy in rows.items():
    score = strategy.simulate(test_images, test_digits, metric=digit_error, larger_is_better=False)
    print(f"{name:10}{score['digit_error']:8.4f}{score['top1']:9.2%}{score.get('weight_bytes', float_bytes):14,}")
print(f"the goal is {'met' if result.goal_met else 'NOT met'} on the search samples, {len(result.trials)} trials")
assert result.goal_met and result.best_trial["weight_bytes"] < 7224
