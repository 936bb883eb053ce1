"""The exercises of lessons 8 to 10: the classifier, training well, language model and assistant."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from glassformer.course.exercise import Exercise
from glassformer.layers.pooling import MeanPooling

_IDS = [2, 6, 7, 5, 1]


def _padded() -> tuple[Tensor, Tensor]:
    """Return hidden states (texts, tokens, numbers) and a mask (texts, tokens)."""
    hidden = torch.randn((3, 4, 2), generator=torch.Generator().manual_seed(0))
    return hidden, torch.tensor([[1, 1, 1, 1], [1, 0, 0, 0], [1, 1, 1, 0]], dtype=torch.bool)


EXERCISES: Mapping[str, Exercise] = {
    "8.1": Exercise(
        right=lambda: _IDS,
        slips=(
            (lambda: _IDS[:4], "The length is 5: fill up with the id of <pad>."),
            (lambda: [2, 6, 7, 5, 0], "Fill up with <pad>, whose id is 1. The id 0 is that of unknown words."),
        ),
        hint="ai is 2, is is 6, learning is 7, cs is 5. Then fill up to five.",
        learned="From here on, the model sees only these numbers.",
    ),
    "8.2": Exercise(
        kind="function",
        right=lambda hidden, mask: MeanPooling()(hidden, mask),
        calls=lambda: [_padded()],
        slips=(
            (
                lambda hidden, _mask: hidden.mean(dim=1),
                "Padding counts in this mean. Multiply with the mask first, and divide by the number of true tokens.",
            ),
            (
                lambda hidden, mask: (hidden * mask[:, :, None]).mean(dim=1),
                "The sum is right, but it is divided by all tokens. Divide by mask.sum(dim=1, keepdim=True).",
            ),
            (lambda hidden, mask: (hidden * mask[:, :, None]).sum(dim=1), "This is the sum. Divide by its tokens."),
        ),
        hint="(hidden * mask[:, :, None]).sum(dim=1) adds up the true tokens. Then divide by how many there are.",
        learned="If padding counted, the answer to a text would depend on the longest text beside it.",
    ),
    "8.3": Exercise(
        right=lambda: math.log(1 + math.exp(2)),
        slips=(
            (lambda: math.log(1 + math.exp(-2)), "This is the loss if class 0 were right."),
            (lambda: 1 / (1 + math.exp(2)), "This is the probability of class 1. The loss is −log of it."),
        ),
        hint="The probability of class 1 is e⁰ / (e² + e⁰). Take −log of it, with the natural logarithm.",
        learned="A sure answer that is wrong costs much: 2.13 here, and 0.69 for a model that does not know.",
    ),
    "9.1": Exercise(
        right=lambda: math.log(27),
        slips=(
            (lambda: math.log2(27), "Take the natural logarithm: math.log."),
            (lambda: math.log10(27), "Take the natural logarithm: math.log."),
            (lambda: -math.log(27), "The sign is wrong: a loss is −log of a probability, and not negative."),
        ),
        hint="Each class has the probability 1/27.",
        learned="3.2958: compare it with the first line of your log.",
    ),
    "9.2": Exercise(
        right=lambda: 0.02,
        slips=(
            (lambda: 2.0, "These are points. Give the difference of the two accuracies as they are written here."),
            (lambda: 0.72 - 1 / 3, "Chance among three classes is not the baseline: one class is far more frequent."),
        ),
        hint="A model that always answers “complaint” is right on 700 of 1,000 texts.",
        learned="An accuracy without its baseline says little.",
    ),
    "9.3": Exercise(
        right=lambda: 0.05,
        slips=(
            (lambda: 1 / 400, "Divide by the root of the number of inputs, and not by the number."),
            (lambda: 20.0, "This makes the outputs larger still. Multiply by 1/√400."),
        ),
        hint="The sum of 400 products has the standard deviation √400 = 20.",
        learned="This is how layers are initialised. With ReLU, √(2/n) makes up for the half that becomes 0.",
    ),
    "10.1": Exercise(
        right=lambda: [4, 7, 5, 2],
        slips=(
            (lambda: [2, 4, 7, 5], "These are the tokens that it reads. The label of each is the token after it."),
            (lambda: [4, 7, 5], "The fourth token has a label too: the text ends after it, and 2 marks the end."),
        ),
        hint="Shift the row by one to the left.",
        learned="A text of n tokens gives n − 1 examples, and nobody has to label them.",
    ),
    "10.2": Exercise(
        kind="function",
        right=lambda logits, temperature: (logits / temperature).softmax(dim=-1),
        calls=lambda: [(torch.tensor([2.0, 1.0, -1.0]), 0.5), (torch.tensor([[0.0, 3.0], [1.0, 1.5]]), 2.0)],
        slips=(
            (
                lambda logits, temperature: (logits * temperature).softmax(dim=-1),
                "You multiplied: a high temperature should make the probabilities more equal. Divide.",
            ),
            (lambda logits, _temperature: logits.softmax(dim=-1), "The temperature has no effect. Divide the logits."),
            (
                lambda logits, temperature: logits.softmax(dim=-1) / temperature,
                "These do not add up to 1. Divide the logits, before the softmax.",
            ),
        ),
        hint="(logits / temperature).softmax(dim=-1)",
        learned="`glassformer generate` has a temperature too.",
    ),
    "10.3": Exercise(
        right=lambda: 0.5,
        slips=(
            (lambda: 1.3, "The penalty is subtracted, not added."),
            (lambda: -3.1, "The penalty of each unit is 0.1, so that of four units is 0.4."),
            (lambda: 1.9, "The difference from −7 to −3 is +4, so the penalty is 0.4."),
        ),
        hint="It became more probable by −3 − (−7) = 4 units.",
        learned="Papers call the 0.1 β. The mean of the differences estimates the KL divergence.",
    ),
}
