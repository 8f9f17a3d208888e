"""Write features.json with the real TensorFlow: examples, what it parses of them, and what it reads of CSV files.

python tests/data/make_features.py        # in an environment with tensorflow-cpu
"""

import base64
import json
import tempfile
from pathlib import Path


def lists(container, features):
    """Fill the features of an Example, or of the context of a SequenceExample."""
    for name, values in features.items():
        fill(container[name], values)


def fill(feature, values):
    if values and isinstance(values[0], bytes):
        feature.bytes_list.value.extend(values)
    elif values and isinstance(values[0], float):
        feature.float_list.value.extend(values)
    else:
        feature.int64_list.value.extend(values)


EXAMPLES = {
    "a": {
        "v": [1.0, 2.0, 3.0], "ix": [5, 1, 3], "iy": [0, 0, 1], "s": [b"x", b"y"], "splits": [0, 2, 3],
        "lengths": [2, 1], "rows": [0, 0, 1], "starts": [0, 2], "limits": [2, 3], "four": [1.0, 2.0, 3.0, 4.0],
        "outer": [2],
    },
    "b": {
        "v": [4.0], "ix": [7], "iy": [1], "splits": [0, 1], "lengths": [1], "rows": [2], "starts": [0], "limits": [1],
        "four": [5.0, 6.0], "outer": [1],
    },
    "c": {},
}  # fmt: skip
SEQUENCES = {
    "a": (
        {"n": [1], "m": [1, 2]},
        {
            "x": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
            "y": [[1], [], [2, 3]],
            "w": [[b"a"], [b"b", b"c"], []],
            "p": [[1, 1], [2], [1, 0, 1]],
        },
    ),
    "b": ({"n": [2]}, {"x": [[7.0, 8.0]], "y": [[9, 9, 9]], "p": [[2]]}),
    "c": ({"n": [3]}, {}),
}
FEATURES = {
    "variable": "{'v': io.VarLenFeature(tf.float32)}",
    "strings": "{'s': io.VarLenFeature(tf.string)}",
    "sparse": "{'q': io.SparseFeature('ix', 'v', tf.float32, 10)}",
    "matrix": "{'q': io.SparseFeature(['iy', 'ix'], 'v', tf.float32, [2, 10])}",
    "sorted": "{'q': io.SparseFeature('ix', 'v', tf.float32, 10, already_sorted=True)}",
    "ragged": "{'v': R(tf.float32)}",
    "ragged64": "{'v': R(tf.float32, row_splits_dtype=tf.int64)}",
    "key": "{'z': R(tf.float32, value_key='v')}",
    "row_splits": "{'z': R(tf.float32, 'v', [R.RowSplits('splits')])}",
    "row_lengths": "{'z': R(tf.float32, 'v', [R.RowLengths('lengths')])}",
    "value_rowids": "{'z': R(tf.float32, 'v', [R.ValueRowIds('rows')])}",
    "row_starts": "{'z': R(tf.float32, 'v', [R.RowStarts('starts')])}",
    "row_limits": "{'z': R(tf.float32, 'v', [R.RowLimits('limits')])}",
    "uniform": "{'z': R(tf.float32, 'four', [R.UniformRowLength(2)])}",
    "levels": "{'z': R(tf.float32, 'v', [R.RowLengths('outer'), R.RowLengths('lengths')])}",
    "uniform_levels": "{'z': R(tf.float32, 'four', [R.UniformRowLength(1), R.UniformRowLength(2)])}",
    "rows": "{'v': io.FixedLenSequenceFeature([], tf.float32, allow_missing=True)}",
    "rows_default": "{'v': io.FixedLenSequenceFeature([], tf.float32, allow_missing=True, default_value=-1.0)}",
    "both": "{'v': io.VarLenFeature(tf.float32), 'x': io.FixedLenFeature([], tf.int64, 7)}",
    "other_dtype": "{'v': io.VarLenFeature(tf.int64)}",
}
STEPS = {
    "fixed": "{'n': io.FixedLenFeature([], tf.int64)}, {'x': io.FixedLenSequenceFeature([2], tf.float32, True)}",
    "required": "{'n': io.FixedLenFeature([], tf.int64)}, {'x': io.FixedLenSequenceFeature([2], tf.float32)}",
    "variable": "{'m': io.VarLenFeature(tf.int64)}, {'y': io.VarLenFeature(tf.int64)}",
    "strings": "None, {'w': io.VarLenFeature(tf.string)}",
    "ragged": "{'m': R(tf.int64)}, {'y': R(tf.int64)}",
    "partition": "None, {'z': R(tf.float32, 'x', [R.RowLengths('p')])}",
    "uniform": "None, {'z': R(tf.float32, 'x', [R.UniformRowLength(2)])}",
}
CSV = {
    "plain": (b'a,b,c\n1,2.5,x\n3,,"y ""q"", z"\n', "[tf.int32, 0.5, tf.string], header=True"),
    "list": (b"1,2.5,x\n3,,\n", "[[0], [0.5], ['q']]"),
    "selected": (b"1,2.5,x\n3,,z\n", "[tf.int32, tf.string], select_cols=[0, 2]"),
    "excluded": (b"1,2.5,x\n3,,z\n", "[tf.int32, tf.string], exclude_cols=[1]"),
    "required": (b"1,2.5\n3,\n", "[tf.int32, tf.float32]"),
    "too_many": (b"1,2,3\n", "[0, 0]"),
    "too_few": (b"1\n", "[0, 0]"),
    "descending": (b"1,2\n", "[0, 0], select_cols=[1, 0]"),
    "beyond": (b"1,2\n", "[0, 0], select_cols=[0, 9]"),
    "lines_in_quotes": (b'1,"two\nlines"\r\n2,z', "[tf.int32, tf.string]"),
    "blank": (b"1\n\n2\n", "[[0]]"),
    "na": (b"NA,1\n2,NA\n", "[0, 1.5], na_value='NA'"),
    "open_quote": (b'"1,2\n', "[0, 1.5]"),
    "no_quotes": (b'"1",2\n', "['a', 1.5], use_quote_delim=False"),
    "delimiter": (b"1|2\n", "[0, 1.5], field_delim='|'"),
    "no_utf8": (b"\xff\xfe,2\n", "['', 1.5]"),
    "int32": (b"99999999999\n", "[0]"),
    "int64": (b"99999999999\n", "[tf.int64]"),
    "floats": (b"1e3,inf, 4 ,0x10,-0\n", "[0.0, 0.0, 0.0, 0.0, tf.float64]"),
    "underscore": (b"1_0\n", "[0]"),
    "no_integer": (b"1.0\n", "[0]"),
    "carriage_returns": (b"1\r2\r\n3\r", "[0]"),
}
TABLE = b"age,name,score,flag,big,empty\n" + b"".join(
    b"%d,n%d,%d.5,%d,%d,\n" % (i, i, i, i % 2, i * 10**10) for i in range(7)
)
TABLES = {
    "epoch": "3, shuffle=False, num_epochs=1",
    "endless": "3, shuffle=False",
    "label": "3, label_name='flag', shuffle=False, num_epochs=1",
    "no_label": "3, label_name='flagg', shuffle=False, num_epochs=1",
    "selected": "3, select_columns=['flag', 'age'], label_name='age', shuffle=False, num_epochs=1",
    "numbers": "3, select_columns=[0, 3], shuffle=False, num_epochs=1",
    "no_column": "3, select_columns=['q'], shuffle=False, num_epochs=1",
    "defaults": "3, select_columns=['age', 'flag'], column_defaults=[tf.float32, 'x'], shuffle=False, num_epochs=1",
    "no_names": "3, header=False, shuffle=False, num_epochs=1",
}


def plain(tf, x):
    """A result as JSON: kind, values, dtype and shape."""
    if isinstance(x, tf.SparseTensor):
        return ["sparse", x.indices.numpy().tolist(), plain(tf, x.values), x.dense_shape.numpy().tolist()]
    if isinstance(x, tf.RaggedTensor):
        splits = [s.numpy().tolist() for s in x.nested_row_splits]
        return ["ragged", str(x.shape), splits, x.row_splits.dtype.name, plain(tf, x.flat_values)]
    if isinstance(x, dict):
        return {key: plain(tf, value) for key, value in x.items()}
    if isinstance(x, (tuple, list)):
        return [plain(tf, value) for value in x]
    texts = json.loads(json.dumps(x.numpy().tolist(), default=lambda b: b.decode("latin-1")))
    return [texts, x.dtype.name, str(x.shape)]


def outcome(tf, call, *args):
    """What a call gives, or the name of its error."""
    try:
        return plain(tf, call(*args))
    except Exception as error:
        return type(error).__name__


def examples(tf, serialized, sequences):
    """What is parsed of the examples, one and many."""
    names = {"tf": tf, "io": tf.io, "R": tf.io.RaggedFeature}
    found = {}
    for name, text in FEATURES.items():
        features = eval(text, names)
        for which in ("abc", "ba"):
            batch = [serialized[one] for one in which]
            found[f"{name} {which}"] = outcome(tf, tf.io.parse_example, batch, features)
        for one in "ab":
            found[f"{name} {one}"] = outcome(tf, tf.io.parse_single_example, serialized[one], features)
    for name, text in STEPS.items():
        features = eval(text, names)
        for which in ("abc", "ba"):
            batch = [sequences[one] for one in which]
            found[f"steps {name} {which}"] = outcome(tf, tf.io.parse_sequence_example, batch, *features)
        for one in "abc":
            found[f"steps {name} {one}"] = outcome(
                tf, tf.io.parse_single_sequence_example, sequences[one], *features
            )
    return found


def tables(tf, folder):
    """What is read of CSV files."""
    found = {}

    def elements(call):
        return list(eval(call, {"tf": tf}))

    for name, (content, arguments) in CSV.items():
        path = Path(folder, f"{name}.csv")
        path.write_bytes(content)
        call = f"tf.data.experimental.CsvDataset({str(path)!r}, {arguments})"
        found[f"csv {name}"] = outcome(tf, elements, call)
    path = Path(folder, "table.csv")
    path.write_bytes(TABLE)
    for name, arguments in TABLES.items():
        call = f"tf.data.experimental.make_csv_dataset({str(path)!r}, {arguments}).take(4)"
        found[f"table {name}"] = outcome(tf, elements, call)
    return found


def serialize(tf):
    """The examples as strings."""
    serialized, sequences = {}, {}
    for name, features in EXAMPLES.items():
        example = tf.train.Example()
        lists(example.features.feature, features)
        serialized[name] = example.SerializeToString(deterministic=True)
    for name, (context, steps) in SEQUENCES.items():
        example = tf.train.SequenceExample()
        lists(example.context.feature, context)
        for key, values in steps.items():
            for step in values:
                feature = example.feature_lists.feature_list[key].feature.add()
                if step:
                    fill(feature, step)
        sequences[name] = example.SerializeToString(deterministic=True)
    return serialized, sequences


def main():
    import tensorflow as tf

    serialized, sequences = serialize(tf)
    with tempfile.TemporaryDirectory() as folder:
        results = {**examples(tf, serialized, sequences), **tables(tf, folder)}
    text = {k: base64.b64encode(v).decode() for k, v in serialized.items()}
    steps = {k: base64.b64encode(v).decode() for k, v in sequences.items()}
    data = {"tensorflow": tf.__version__, "examples": text, "sequences": steps, "results": results}
    Path(__file__).with_name("features.json").write_text(json.dumps(data, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
