"""One epoch of a dataset of arrays in memory: 10 000 images of 8x8 and their labels, shuffled, in batches of 64.

It returns the sum of all labels, which does not depend on their order.
"""

NUMBER = 16
TITLE = "dataset: shuffle 10 000, 157 batches of 64"

COUNT, BATCH = 10_000, 64


def inputs(rng):
    return rng.random((COUNT, 8, 8, 1), dtype="float32"), rng.integers(0, 10, COUNT).astype("int32")


def in_tensorflow(tf, images, labels):
    batches = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(COUNT).batch(BATCH)

    def epoch():
        seen = [labels for images, labels in batches]
        return [tf.reduce_sum(tf.concat(seen, 0))]

    return epoch, ()


def in_torch(torch, images, labels):
    examples = torch.utils.data.TensorDataset(torch.tensor(images), torch.tensor(labels))
    batches = torch.utils.data.DataLoader(examples, batch_size=BATCH, shuffle=True)

    def epoch():
        seen = [labels for images, labels in batches]
        return [torch.cat(seen).sum(dtype=torch.int32)]

    return epoch, ()
