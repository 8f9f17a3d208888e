"""Write ragged.json with the real TensorFlow: what each expression below gives.

python tests/data/make_ragged.py        # in an environment with tensorflow-cpu
"""

import json
from pathlib import Path

import numpy as np

NAMES = {
    "a": "tf.ragged.constant([[1, 2], [3], [], [4, 5, 6]])",
    "f": "tf.ragged.constant([[1.0, 2.0], [3.0], [], [4.0, 5.0, 6.0]])",
    "d": "tf.ragged.constant([[[1, 2], [3]], [], [[4, 5, 6]]])",  # deep
    "w": "tf.ragged.constant([[[1, 2], [3, 4]], [], [[5, 6]]], ragged_rank=1)",  # wide values
    "u": "tf.RaggedTensor.from_uniform_row_length(tf.ragged.constant([[1, 2], [3], [], [4, 5, 6]]), 2)",
    "s": "tf.ragged.constant([['a b', 'c'], ['d']])",
    "p": "tf.sparse.from_dense([[1.0, 0.0], [0.0, 2.0]])",
    "R": "tf.RaggedTensor",
    "S": "tf.strings",
    "G": "tf.ragged",
    "np": "__import__('numpy')",
}

GROUPS = {
    "making": """
        G.constant([[], []]); G.constant([1, 2]); G.constant(3); G.constant([['a', 'b'], ['c']])
        G.constant([[[1, 2]], [[3, 4], [5, 6]]], inner_shape=(2,)); G.constant([[1.5], []], dtype='float64')
        G.constant([np.array([1, 2]), np.array([3])]); G.constant([[1]], row_splits_dtype='int32').row_splits
        R.from_row_lengths([1, 2, 3], [2, 0, 1]); R.from_row_splits(['a', 'b'], [0, 0, 2])
        R.from_value_rowids([1, 2, 3], [0, 0, 2], nrows=4); R.from_row_starts([1, 2, 3], [0, 2, 2])
        R.from_row_limits([1, 2, 3], [0, 2, 3]); R.from_uniform_row_length([1, 2, 3, 4], 2)
        R.from_uniform_row_length([], 0, nrows=3); R.from_nested_row_splits([1, 2, 3], [[0, 1, 2], [0, 1, 3]])
        R.from_nested_row_lengths([1, 2, 3], [[1, 1], [1, 2]])
        R.from_nested_value_rowids([1, 2, 3], [[0, 1], [0, 1, 1]], [3, 2])
        R.from_tensor([[1, 2], [3, 4]]); R.from_tensor([[1, 0], [3, 4]], padding=0)
        R.from_tensor([[1, 2], [3, 4]], lengths=[1, 2]); R.from_tensor([[[1, 2], [3, 4]]], ragged_rank=2)
        R.from_tensor([[[1, 2], [3, 4]]], lengths=([2], [1, 2])); R.from_sparse(a.to_sparse())
        R.from_tensor([[[1, 2], [0, 0]], [[0, 0], [0, 0]]], padding=[0, 0])
        G.range([2, 0, 3]); G.range(3); G.range([0, 5], [3, 9], 2); G.range([0.0], [1.0], 0.3); G.range(5, [2, 0], -2)
        G.stack([a, a]); G.stack([a, a], axis=1); G.stack([a, a], axis=2); G.stack([[1, 2], [3]])
        G.stack_dynamic_partitions([1, 2, 3, 4], [0, 1, 0, 2], 4); G.stack_dynamic_partitions(a, [1, 0, 1, 1], 2)
        G.row_splits_to_segment_ids([0, 2, 2, 3]); G.segment_ids_to_row_splits([0, 0, 2], num_segments=5)
        G.map_flat_values(tf.add, a, a); G.boolean_mask(a, a > 2); G.boolean_mask(a, [True, False, True, True])
        G.boolean_mask([[1, 2, 3], [4, 5, 6]], [[True, False, True], [False, False, True]]); G.boolean_mask(d, d > 2)
        G.cross([G.constant([['a'], ['b', 'c']]), [['d'], ['e']]])
        G.cross([[[1, 2]], [['a']], G.constant([['x', 'y']])])
        G.cross_hashed([[['a']], [[1]]], num_buckets=1000, hash_key=7); G.cross_hashed([[[1]], [[2]]])
        """,
    "parts": """
        a.shape; d.shape; w.shape; u.shape; a.nrows(); a.row_lengths(); d.row_lengths(axis=2); a.bounding_shape()
        d.bounding_shape(); d.bounding_shape(axis=1); d.nested_row_lengths(); a.value_rowids()
        d.nested_value_rowids()
        a.row_starts(); a.row_limits(); a.row_splits; u.uniform_row_length; d.ragged_rank; w.ragged_rank; d.values
        d.flat_values; d.merge_dims(0, 1); d.merge_dims(1, 2); d.merge_dims(0, 2); w.merge_dims(1, 2)
        w.merge_dims(0, -1)
        a.with_row_splits_dtype('int32').row_splits; a.with_values([6, 5, 4, 3, 2, 1])
        d.with_flat_values(tf.range(6))
        a.to_tensor(); a.to_tensor(-1); a.to_tensor(shape=[None, 2]); a.to_tensor(shape=[5, 4]); d.to_tensor()
        w.to_tensor(9); u.to_tensor(); s.to_tensor(); s.to_tensor('x'); d.to_tensor(shape=[2, 1, 4]); a.to_sparse()
        d.to_sparse(); w.to_sparse(); a.numpy(); d.to_list(); repr(a); repr(d); repr(w); repr(u); repr(s)
        repr(G.constant([[], []])); repr(G.constant([[1.0, 2.123456789]])); repr(G.constant([list(range(50))] * 2))
        repr(a._type_spec); repr(u._type_spec); repr(tf.RaggedTensorSpec([None, None], tf.int32)); list(a)
        repr(tf.shape(a)); repr(tf.shape(w)); tf.shape(u)[1]; tf.shape(w)[-1]
        tf.shape(a, out_type='int64')[0]; tf.shape(u).num_row_partitions
        tf.RaggedTensorSpec([None, None], tf.int32).is_compatible_with(a); tf.is_tensor(a); tf.is_tensor(p)
        """,
    "indexing": """
        a[0]; a[-1]; a[1:]; a[:, :1]; d[0]; d[:, :, :1]; w[:, :, 0]; w[0, 1]; a[0, 1]; a[::2]; a[tf.newaxis]
        a[:, tf.newaxis]; a[..., tf.newaxis]; a[:, :, tf.newaxis]; a[tf.constant(1)]; d[..., 0:1]; a[..., 0:1]
        w[..., 0]; a[::-1]; a[:, ::-1]; u[0]; u[:, 0]; u[:, 0:1]; u[0, 1, 0]; a[:, -2:]; a[:, 1:-1]; a[:, ::2]
        d[:, 1:]
        a[:, 5:0:-2]; a[2:2]; d[0, 1, 0]; w[:, 1:, ::-1]
        tf.gather(a, [0, 3]); tf.gather(a, [[0], [3]]); tf.gather([10, 20, 30, 40, 50, 60, 70], a); tf.gather(a, 1)
        tf.gather(a, G.constant([[0], [], [3, 1]])); tf.gather(d, [2, 0]); tf.gather(a[:1], [0, 1], axis=1)
        tf.gather(f, G.constant([[0], [0], [], [2, 1]]), batch_dims=1); tf.gather(d, [[0], [0]], axis=2)
        tf.gather([[1, 2, 3], [4, 5, 6]], G.constant([[2], [0, 1], []]), axis=1)
        tf.gather(tf.reshape(tf.range(12), (2, 3, 2)), G.constant([[2], [0, 1]]), axis=1)
        tf.gather(tf.reshape(tf.range(12), (2, 2, 3)), G.constant([[2], [0, 1]]), axis=2)
        tf.gather(G.constant([[1, 2, 3], [4, 5, 6, 7]]), G.constant([[[2], [0, 1]], [[]]], dtype='int32'), axis=1)
        tf.gather_nd(a, [[0, 1], [3, 2]]); tf.gather_nd(a, [[0], [3]]); tf.gather_nd(w, [[0, 1, 0]])
        tf.reverse(a, [0]); tf.reverse(a, [1]); tf.split(a, 2); tf.split(a, [1, 3])
        tf.dynamic_partition(a, [0, 1, 0, 1], 2)
        """,
    "elementwise": """
        a + 1; a + a; a * [[1], [2], [3], [4]]; a / 2; a == a; a < 3; w + tf.constant([10, 20]); 1 - a; a ** 2; -a
        ~(a > 2); abs(-a); a // 2; a % 2; (a > 2) & (a < 5); (a > 2) | (a < 2); tf.constant(2) * a; 2 ** a
        tf.constant([[1], [2], [3], [4]]) * a; u * [[[1]], [[10]]]; u * [[[1], [2]]]
        d * [[[1]], [[2]], [[3]]]; a != 3
        tf.cast(a, 'float32'); tf.equal(a, 3); tf.add(a, y=1); tf.maximum(a, 2); tf.logical_and(a > 1, a < 3)
        tf.pow(a, 2)
        tf.math.log(f); tf.nn.relu(-f); tf.nn.sigmoid(f); tf.clip_by_value(a, 2, 4); tf.identity(a); tf.add_n([a, a])
        tf.ones_like(a); tf.zeros_like(a, dtype='float32'); tf.where(a > 2, a, 0); tf.where(a > 2, a, -a)
        tf.where(a > 2)
        tf.where(w > 2); tf.bitwise.invert(a); tf.math.squared_difference(f, 1.0); tf.stop_gradient(f); tf.round(f)
        """,
    "reducing": """
        tf.reduce_sum(a); tf.reduce_sum(a, axis=0); tf.reduce_sum(a, axis=1); tf.reduce_sum(a, axis=-1)
        tf.reduce_sum(d, axis=1); tf.reduce_sum(d, axis=2); tf.reduce_sum(d, axis=0); tf.reduce_sum(d, axis=[0, 1])
        tf.reduce_sum(d, axis=[1, 2]); tf.reduce_sum(w, axis=2); tf.reduce_sum(w, axis=1); tf.reduce_mean(f, 1)
        tf.reduce_mean(a, 1); tf.reduce_mean(a); tf.reduce_mean(f, 0); tf.reduce_mean(d, [1, 2]); tf.reduce_max(f, 1)
        tf.reduce_min(a, 1); tf.reduce_prod(a, 1); tf.reduce_any(a > 2, 1); tf.reduce_all(a > 2, 1)
        tf.reduce_all(a > 2)
        tf.reduce_sum(a, 1, keepdims=True); tf.reduce_sum(a, 0, keepdims=True); tf.reduce_sum(a, keepdims=True)
        tf.reduce_sum(d, 1, keepdims=True); tf.reduce_sum(d, 2, keepdims=True); tf.math.reduce_std(f, 1)
        tf.math.reduce_variance(f, 1); tf.reduce_logsumexp(f, 1); tf.nn.softmax(f)
        tf.nn.softmax(tf.cast(w, 'float32'))
        tf.cumsum(a); tf.cumsum(a, axis=1); tf.cumsum(a, axis=1, exclusive=True, reverse=True); tf.math.bincount(a)
        tf.math.bincount(a, axis=-1); tf.math.bincount(a, axis=-1, minlength=9, binary_output=True)
        tf.sparse.bincount(a); tf.sparse.bincount(a, axis=-1); tf.sparse.bincount(a, weights=f, axis=-1, maxlength=6)
        tf.sparse.bincount(a, axis=-1, minlength=9, binary_output=True)
        tf.math.unsorted_segment_sum(a, [0, 0, 1, 1], 2); tf.math.unsorted_segment_max(f, [1, 0, 0, 1], 2)
        tf.map_fn(lambda x: x * 2, a); tf.map_fn(tf.reduce_sum, a, fn_output_signature=tf.int32)
        tf.map_fn(tf.range, tf.constant([2, 0, 3]), fn_output_signature=tf.RaggedTensorSpec([None], tf.int32))
        """,
    "joining": """
        tf.concat([a, a], 0); tf.concat([a, a], 1); tf.concat([a, [[1], [2], [3], [4]]], 1); tf.concat([d, d], 2)
        tf.concat([d, d], 1); tf.concat([w, w], 2); tf.concat([a, [[7, 8]]], 0); tf.stack([a, a]); tf.tile(a, [2, 1])
        tf.tile(a, [1, 2]); tf.tile(d, [2, 1, 2]); tf.expand_dims(a, 0); tf.expand_dims(a, 1); tf.expand_dims(a, 2)
        tf.expand_dims(a, -1); tf.squeeze(tf.expand_dims(a, 1), 1); tf.squeeze(tf.expand_dims(a, 0), 0); tf.size(a)
        tf.rank(a); tf.reshape(a, [-1]); tf.one_hot(a, 4); tf.nn.embedding_lookup(np.eye(7), a)
        """,
    "strings": r"""
        S.length(s); S.upper(s); S.join([s, s], separator='-'); S.join([s, 'x'])
        S.reduce_join(s, axis=-1, separator='+')
        S.reduce_join(s, axis=0); S.reduce_join(s); S.to_number(G.constant([['1'], ['2', '3']])); S.as_string(a)
        S.format('{}', a); S.format('{} {}', [f, s]); S.substr(s, 0, 1); S.regex_replace(s, 'a', 'z')
        S.to_hash_bucket_fast(s, 10); S.reduce_join(G.constant([[['a'], ['b']], [['c', 'd']]]), axis=1); S.split(s)
        S.split('a b  c'); S.split(['a b', 'c']); S.split([['a b'], ['c']]); S.split(['a,b', 'c,'], ',')
        S.split('a,b,c', ',', maxsplit=1); S.split([' a  b c'], maxsplit=1); S.split([' a  b '], ' '); S.split([''])
        S.split([''], ','); S.split(['a||b'], '||'); S.bytes_split(['ab', 'c']); S.bytes_split('ab'); S.bytes_split(s)
        S.unicode_split(['aé', 'c'], 'UTF-8'); S.unicode_split('aé', 'UTF-8')
        S.unicode_split([b'\0a\0b'], 'UTF-16-BE')
        S.unicode_split_with_offsets(['aé', 'c'], 'UTF-8'); S.unicode_split_with_offsets([b'a\xffb'], 'UTF-8')
        S.unicode_decode(['aé', 'c'], 'UTF-8'); S.unicode_decode('aé', 'UTF-8')
        S.unicode_decode([b'a\xe2\x82b'], 'UTF-8')
        S.unicode_decode([b'a\xffb'], 'UTF-8', errors='ignore'); S.unicode_decode_with_offsets(['éa', 'c'], 'UTF-8')
        S.unicode_decode([b'a\x01b'], 'UTF-8', replace_control_characters=True)
        S.unicode_decode([b'a\xffb'], 'UTF-8', replacement_char=63)
        S.unicode_encode([[97, 233], [98, 99]], 'UTF-8'); S.unicode_encode(G.constant([[97, 233], [98]]), 'UTF-16-BE')
        S.unicode_encode([97, 98], 'UTF-8'); S.unicode_encode([[97, 0xD800]], 'UTF-8')
        S.unicode_encode([[97, 0xD800]], 'UTF-8', errors='ignore'); S.ngrams(['a', 'b', 'c'], 2)
        S.unicode_encode(G.constant([[[97, 233], [98]], [[99]]]), 'UTF-8')
        S.unicode_transcode(s, 'UTF-8', 'UTF-16-BE')
        S.ngrams([['a', 'b', 'c'], ['d', 'e', 'f']], [1, 2]); S.ngrams(s, 2); S.ngrams(s, 2, pad_values=('<', '>'))
        S.ngrams(s, 3, preserve_short_sequences=True); S.ngrams(s, (1, 3), pad_values='_', padding_width=1)
        S.ngrams(s, 2, separator=''); S.ngrams(['a', 'b'], 5, pad_values=('L', 'R')); S.ngrams(['a'], 2)
        """,
    "composites": """
        tf.cast(p, 'int32'); tf.abs(p); tf.square(p); tf.math.sqrt(p); tf.shape(p); tf.size(p); tf.rank(p)
        tf.identity(p)
        tf.negative(p); tf.nest.flatten([a, p], expand_composites=True); repr(tf.type_spec_from_value(a))
        tf.nest.map_structure(lambda x: x, {'a': a}, expand_composites=True)['a']
        """,
}

EXPRESSIONS = [
    e.strip() for group in GROUPS.values() for line in group.strip().split("\n") for e in line.split("; ")
]


def value(tf, expression):
    """What an expression gives, as JSON can say it."""
    names = {"tf": tf}
    for name, text in NAMES.items():
        names[name] = eval(text, names)
    return described(tf, eval(expression, names))


def described(tf, x):
    """A result by its kind, dtype, shape and values."""
    if isinstance(x, tf.RaggedTensor):
        return ["ragged", x.dtype.name, str(x.shape), plain(x.to_list())]
    if isinstance(x, tf.SparseTensor):
        return ["sparse", *[described(tf, part) for part in (x.indices, x.values, x.dense_shape)]]
    if isinstance(x, tf.Tensor):
        return ["tensor", x.dtype.name, str(x.shape), plain(np.asarray(x.numpy()).tolist())]
    if isinstance(x, (list, tuple)) and x and not isinstance(x, tf.TensorShape):
        return [described(tf, part) for part in x]
    return x if isinstance(x, (bool, int, list)) else str(x)


def plain(x):
    """Lists of bytes as lists of text."""
    if isinstance(x, list):
        return [plain(element) for element in x]
    return x.decode("latin-1") if isinstance(x, bytes) else x


if __name__ == "__main__":
    import tensorflow

    found = {expression: value(tensorflow, expression) for expression in EXPRESSIONS}
    text = ",\n".join(f"{json.dumps(name)}: {json.dumps(result)}" for name, result in found.items())
    Path(__file__).with_name("ragged.json").write_text("{\n" + text + "\n}\n")
