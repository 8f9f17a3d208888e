"""Write the results in src/gradtape/raw_examples.txt anew, with the real TensorFlow: its calls stay as they are.

A block has the name of an operation in brackets, then statements and what they print, as in a doctest. Operations that
TensorFlow does not run on CPUs keep the results that they have; their names are printed.

python tests/data/make_raw_examples.py        # in an environment with tensorflow-cpu
"""

import doctest
from pathlib import Path

PATH = Path(__file__).parents[2] / "src" / "gradtape" / "raw_examples.txt"


def printed(example, scope):
    """What a statement of a doctest prints."""
    try:
        code = compile(example.source, "<example>", "eval")
    except SyntaxError:
        exec(example.source, scope)
        return ""
    value = eval(code, scope)
    return "" if value is None or type(value).__name__ == "Operation" else f"{value!r}\n"


def renewed(text, tf):
    """The statements of a block, each with what it prints in TensorFlow, without the empty lines of arrays."""
    scope, found = {"tf": tf}, []
    for example in doctest.DocTestParser().get_examples(text):
        first, *rest = example.source.splitlines()
        found += [f">>> {first}", *[f"... {line}" for line in rest]]
        found += [line for line in printed(example, scope).splitlines() if line]
    return "\n".join(found)


def main():
    import tensorflow as tf

    blocks = []
    for block in PATH.read_text(encoding="utf-8").rstrip().split("\n\n"):
        head, _, text = block.partition("\n")
        try:
            text = renewed(text, tf)
        except Exception as error:
            print(f"{head} {type(error).__name__}: {str(error)[:100]}")
        blocks.append(f"{head}\n{text}")
    PATH.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
