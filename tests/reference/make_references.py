"""Makes references.json: what the programs give under TensorFlow.

Run it where TensorFlow 2 and Keras 3 are installed, from the project's root, for all programs or for those named:
`python -m tests.reference.make_references [theme | theme.program ...]`. Programs that are gone are dropped.

A number is written down only if TensorFlow gives the same one eagerly and compiled. Where it does not, or fails in one
of the two, the program is run in the other mode alone, and the data says why.
"""

import json
import os
import sys

from .answers import DATA, disagreements, find_programs, modes_of, run

MOST_NUMBERS = 400


def count(result):
    if isinstance(result, (dict, list)):
        return sum(map(count, result.values() if isinstance(result, dict) else result))
    return 1


def last_line(error):
    """What an error says: in a function, TensorFlow puts the user's lines before it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines and lines[0] == "in user code:" else (lines or [""])[0])[:160]


def reference(tf, name, program):
    """The entry of one program."""
    results, failures = {}, {}
    for mode in modes_of(program):
        try:
            results[mode] = run(program, tf, mode)
        except Exception as error:
            failures[mode] = f"TensorFlow raises {type(error).__name__}: {last_line(error)}"
    if not results:
        raise RuntimeError(f"{name}: {failures}")
    if failures:
        ((mode, result),) = results.items()
        ((failed, why),) = failures.items()
        entry = {"result": result, "only": mode, "because": f"{failed}, {why}"}
    elif len(results) == 1:
        ((mode, result),) = results.items()
        entry = {"result": result}
    else:
        entry = {"result": results["eager"]}
        differ = disagreements(results["compiled"], results["eager"])
        if differ:
            entry |= {
                "only": "eager",
                "because": "compiled, TensorFlow differs: " + " ".join(differ[0].split())[:160],
            }
    if count(entry["result"]) > MOST_NUMBERS:
        raise RuntimeError(
            f"{name} returns {count(entry['result'])} numbers; at most {MOST_NUMBERS} are kept"
        )
    return entry


def main(chosen):
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # which reorders sums from machine to machine
    import tensorflow as tf

    programs = find_programs()
    entries = json.loads(DATA.read_text())["programs"] if chosen and DATA.exists() else {}
    broken = []
    for name, program in programs.items():
        if not chosen or any(name == c or name.startswith(c + ".") for c in chosen):
            try:
                entries[name] = reference(tf, name, program)
            except RuntimeError as error:
                broken.append(str(error))
                continue
            if "only" in entries[name]:
                print(f"{name}: {entries[name]['only']} only; {entries[name]['because']}")
    lines = [f"{json.dumps(name)}: {json.dumps(entries[name])}" for name in programs if name in entries]
    DATA.write_text(
        f'{{"tensorflow": "{tf.__version__}", "programs": {{\n' + ",\n".join(lines) + "\n}}\n", newline="\n"
    )
    print(f"{len(lines)} programs")
    return "\n".join(broken)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
