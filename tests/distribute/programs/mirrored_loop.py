"""TensorFlow's guide to custom training with MirroredStrategy: a Keras model, checkpoints, three ways to iterate.

Runs on TensorFlow and on gradtape, and prints numbers as JSON: tests/data/make_distribute.py stores TensorFlow's.
"""

import json
import os
import tempfile

import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
random = np.random.default_rng(2)
train_images, test_images = random.normal(size=(40, 8, 8, 1)), random.normal(size=(12, 8, 8, 1))
train_images, test_images = train_images.astype("f"), test_images.astype("f")
train_labels = train_images[:, :4].mean((1, 2, 3)).argsort().argsort() // 10
test_labels = test_images[:, :4].mean((1, 2, 3)).argsort().argsort() // 3

strategy = tf.distribute.MirroredStrategy()
BATCH = 8 * strategy.num_replicas_in_sync
found = {"replicas": strategy.num_replicas_in_sync}
train_dataset = tf.data.Dataset.from_tensor_slices((train_images, train_labels)).batch(BATCH)
test_dataset = tf.data.Dataset.from_tensor_slices((test_images, test_labels)).batch(BATCH)
train_dist_dataset = strategy.experimental_distribute_dataset(train_dataset)
test_dist_dataset = strategy.experimental_distribute_dataset(test_dataset)


def create_model():
    regularizer = tf.keras.regularizers.L2(1e-3)
    model = tf.keras.Sequential(
        [
            tf.keras.Input((8, 8, 1)),
            tf.keras.layers.Conv2D(4, 3, activation="relu", kernel_regularizer=regularizer),
            tf.keras.layers.MaxPooling2D(),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(8, activation="relu", kernel_regularizer=regularizer),
            tf.keras.layers.Dense(4),
        ]
    )
    numbers = np.random.default_rng(7)
    model.set_weights([numbers.normal(size=w.shape).astype("f") * 0.3 for w in model.get_weights()])
    return model


with strategy.scope():
    loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=None)

    def compute_loss(labels, predictions, model_losses):
        per_example_loss = loss_object(labels, predictions)
        loss = tf.nn.compute_average_loss(per_example_loss, global_batch_size=BATCH)
        if model_losses:
            loss += tf.nn.scale_regularization_loss(tf.add_n(model_losses))
        return loss

    test_loss = tf.keras.metrics.Mean(name="test_loss")
    train_accuracy = tf.keras.metrics.SparseCategoricalAccuracy(name="train_accuracy")
    test_accuracy = tf.keras.metrics.SparseCategoricalAccuracy(name="test_accuracy")
    model = create_model()
    optimizer = tf.keras.optimizers.Adam(learning_rate=0.01)
    optimizer.build(model.trainable_variables)
    checkpoint = tf.train.Checkpoint(optimizer=optimizer, model=model)


def train_step(inputs):
    images, labels = inputs
    with tf.GradientTape() as tape:
        predictions = model(images, training=True)
        loss = compute_loss(labels, predictions, model.losses)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    train_accuracy.update_state(labels, predictions)
    return loss


def test_step(inputs):
    images, labels = inputs
    predictions = model(images, training=False)
    test_loss.update_state(loss_object(labels, predictions))
    test_accuracy.update_state(labels, predictions)


@tf.function
def distributed_train_step(dataset_inputs):
    per_replica_losses = strategy.run(train_step, args=(dataset_inputs,))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica_losses, axis=None)


@tf.function
def distributed_test_step(dataset_inputs):
    return strategy.run(test_step, args=(dataset_inputs,))


folder = tempfile.mkdtemp()
found["epochs"] = []
for _ in range(2):
    losses = [float(distributed_train_step(x)) for x in train_dist_dataset]
    for x in test_dist_dataset:
        distributed_test_step(x)
    path = checkpoint.save(os.path.join(folder, "ckpt"))
    found["epochs"].append(
        [*losses, *[float(m.result()) for m in (train_accuracy, test_loss, test_accuracy)]]
    )
    for metric in (test_loss, train_accuracy, test_accuracy):
        metric.reset_state()

# The latest checkpoint, without a strategy
eval_accuracy = tf.keras.metrics.SparseCategoricalAccuracy(name="eval_accuracy")
new_model = create_model()
tf.train.Checkpoint(optimizer=tf.keras.optimizers.Adam(), model=new_model).restore(
    tf.train.latest_checkpoint(folder)
).expect_partial()


@tf.function
def eval_step(images, labels):
    eval_accuracy.update_state(labels, new_model(images, training=False))


for images, labels in test_dataset:
    eval_step(images, labels)
found["restored"] = float(eval_accuracy.result())
found["kernel"] = new_model.get_weights()[0].tolist()

# By an iterator, for some steps of the epoch
iterator = iter(train_dist_dataset)
found["iterator"] = [float(distributed_train_step(next(iterator))) for _ in range(2)]


# Inside of a function
@tf.function
def distributed_train_epoch(dataset):
    total_loss, batches = 0.0, 0
    for x in dataset:
        per_replica_losses = strategy.run(train_step, args=(x,))
        total_loss += strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica_losses, axis=None)
        batches += 1
    return total_loss / tf.cast(batches, dtype=tf.float32)


found["function"] = [float(distributed_train_epoch(train_dist_dataset)) for _ in range(2)]
found["weights"] = [w.tolist() for w in model.get_weights()]
found["accuracy"] = float(train_accuracy.result())

print("found", json.dumps(found))
