"""One network on two targets: what each can run, what it costs there, and where the error comes from."""

from pathlib import Path

import numpy as np

import intaglio

TARGETS = ("cortex-m", "x86-vnni")
examples = Path(__file__).resolve().parents[1]
images, labels, test_images, test_labels = (
    np.load(examples / f"digits_{part}.npy") for part in ("search_images", "search_labels", "test_images", "test_labels")
)
model = intaglio.Model(examples / "digits.onnx")
scaled = intaglio.Preprocess(scale=1 / 255)

print(f"{'':10}{'top-1':>8}{'SQNR dB':>9}{'cycles':>10}{'RAM':>8}  worst edge")
programs = {}
for target in TARGETS:
    check = model.check(target)
    assert check.runs, [node for node in check if node.placement == "refused"]
    strategy = intaglio.uniform(model, target, 8, images, preprocess=scaled)
    score = strategy.simulate(test_images, test_labels)
    worst = strategy.inspect(test_images[:200])[0]
    programs[target] = strategy.realize()
    print(
        f"{target:10}{score['top1']:8.2%}{score['sqnr_db']:9.2f}{score['cycles']:10,.0f}"
        f"{score['peak_activation_bytes']:8,}  {worst.value} at {worst.sqnr_db:.1f} dB"
    )
    assert programs[target].digest(test_images) == score.digest  # the program gives the simulation's bits

# Both are integers; they round differently, so their outputs differ, but seldom in what they say.
outputs = [program(test_images) for program in programs.values()]
same = np.mean(outputs[0].argmax(axis=1) == outputs[1].argmax(axis=1))
print(f"the two programs agree on {same:.2%} of {len(test_images)} samples, differ by at most "
      f"{np.abs(outputs[0] - outputs[1]).max():.2f} in a logit")

# The effects behind the loss on the first target, and what would lessen it.
strategy = intaglio.uniform(model, TARGETS[0], 4, images, recover="none", preprocess=scaled)
explanation = strategy.explain(images[:64], labels[:64], most_changes=3)
for effect in explanation[:3]:
    print(f"{effect.share:7.1%} of the loss at 4 bits: {effect.effect} of {effect.value or effect.node}; {effect.change or '-'}")
better = explanation.better().simulate(test_images, test_labels)
print(f"SQNR with these changes: {better['sqnr_db']:.2f} dB, before {strategy.simulate(test_images)['sqnr_db']:.2f} dB")
