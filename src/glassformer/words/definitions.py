"""Find the order in which to learn words, because a definition may hold unknown words of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping


def in_layers(
    wanted: Mapping[str, str],
    *,
    define: Callable[[str], str | None],
    unknown_words: Callable[[str], list[str]],
    depth: int,
) -> list[dict[str, str]]:
    """Divide the wanted words, and the words that their definitions need, into layers.

    An unknown word in a definition is looked up. So are the unknown words in the definition that is found, up to
    `depth` times. The words of a layer can be learned together, because they need only words of earlier layers. If
    words define each other in a circle, one of them is learned first and reads the other as unknown.

    Args:
        wanted: word → definition.
        define: returns a word's definition in a dictionary, or None.
        unknown_words: returns the words of a text that the model does not know, spelled as in `wanted`.
        depth: how many times unknown words are looked up; 0 looks up none.

    Returns:
        Word → definition for each layer. All wanted words are included.
    """
    definitions = dict(wanted)
    needs: dict[str, list[str]] = {}
    newest = list(wanted)
    for level in range(depth + 1):
        found: dict[str, str] = {}
        for word in newest:
            needs[word] = unknown_words(definitions[word])
            for need in needs[word] if level < depth else ():
                if need not in definitions and (definition := define(need)):
                    found[need] = definition
        definitions |= found
        newest = list(found)
    layer_of = _layers(list(definitions), {word: [n for n in of if n in definitions] for word, of in needs.items()})
    layers: list[dict[str, str]] = [{} for _ in range(max(layer_of.values(), default=-1) + 1)]
    for word, number in layer_of.items():
        layers[number][word] = definitions[word]
    return layers


def _layers(words: list[str], needs: Mapping[str, list[str]]) -> dict[str, int]:
    """Return the layer of each word: one above the highest layer of the words that it needs.

    A need that closes a circle does not count.
    """
    layer_of: dict[str, int] = {}
    for root in words:
        path, open_words = [root], {root}
        while path:  # depth first; a chain of definitions may be longer than Python's own stack
            word = path[-1]
            waiting = next((need for need in needs[word] if need not in layer_of and need not in open_words), None)
            if waiting is not None:
                path.append(waiting)
                open_words.add(waiting)
                continue
            path.pop()
            open_words.discard(word)
            layer_of.setdefault(word, 1 + max((layer_of[need] for need in needs[word] if need in layer_of), default=-1))
    return layer_of
