"""TensorFlow's guide to a custom training loop with MultiWorkerMirroredStrategy.

The argument is a folder of all workers.
Runs on TensorFlow and on gradtape, and prints numbers as JSON: tests/data/make_distribute.py stores TensorFlow's.
"""

import json
import os
import sys

import numpy as np
import tensorflow as tf

FOLDER, EPOCHS, STEPS, PER_WORKER = sys.argv[1], 3, 3, 4
strategy = tf.distribute.MultiWorkerMirroredStrategy()
BATCH = PER_WORKER * strategy.num_replicas_in_sync
random = np.random.default_rng(4)
X = random.normal(size=(32, 6)).astype("f")
Y = (X @ random.normal(size=(6, 3))).argmax(1)


def dataset_fn(context):
    dataset = tf.data.Dataset.from_tensor_slices((X, Y)).repeat()
    dataset = dataset.shard(context.num_input_pipelines, context.input_pipeline_id)
    return dataset.batch(context.get_per_replica_batch_size(BATCH))


with strategy.scope():
    multi_worker_dataset = strategy.distribute_datasets_from_function(dataset_fn)
    model = tf.keras.Sequential(
        [tf.keras.Input((6,)), tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(3)]
    )
    numbers = np.random.default_rng(7)
    model.set_weights([numbers.normal(size=w.shape).astype("f") * 0.5 for w in model.get_weights()])
    optimizer = tf.keras.optimizers.RMSprop(learning_rate=0.01)
    optimizer.build(model.trainable_variables)
    train_accuracy = tf.keras.metrics.SparseCategoricalAccuracy(name="train_accuracy")
    loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=None)
    epoch = tf.Variable(initial_value=tf.constant(0, dtype=tf.dtypes.int64), name="epoch")
    step_in_epoch = tf.Variable(initial_value=tf.constant(0, dtype=tf.dtypes.int64), name="step_in_epoch")


@tf.function
def train_step(iterator):
    def step_fn(inputs):
        x, y = inputs
        with tf.GradientTape() as tape:
            predictions = model(x, training=True)
            loss = tf.nn.compute_average_loss(loss_object(y, predictions), global_batch_size=BATCH)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        train_accuracy.update_state(y, predictions)
        return loss

    per_replica_losses = strategy.run(step_fn, args=(next(iterator),))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica_losses, axis=None)


def is_chief(task_type, task_id, cluster_spec):
    return (
        task_type is None
        or task_type == "chief"
        or (task_type == "worker" and task_id == 0 and "chief" not in cluster_spec.as_dict())
    )


resolver = strategy.cluster_resolver
task_type, task_id, cluster_spec = resolver.task_type, resolver.task_id, resolver.cluster_spec()
chief = is_chief(task_type, task_id, cluster_spec)
checkpoint_dir = os.path.join(FOLDER, "ckpt")
# All workers save, those that are not the chief to a folder which they remove.
write_dir = checkpoint_dir if chief else os.path.join(FOLDER, f"workertemp_{task_id}")
checkpoint = tf.train.Checkpoint(model=model, epoch=epoch, step_in_epoch=step_in_epoch)
checkpoint_manager = tf.train.CheckpointManager(checkpoint, directory=write_dir, max_to_keep=1)
latest = tf.train.latest_checkpoint(checkpoint_dir)
if latest:
    checkpoint.restore(latest)

found = {"replicas": strategy.num_replicas_in_sync, "workers": cluster_spec.num_tasks("worker"), "epochs": []}
while epoch.numpy() < EPOCHS:
    iterator = iter(multi_worker_dataset)
    losses = []
    while step_in_epoch.numpy() < STEPS:
        losses.append(float(train_step(iterator)))
        step_in_epoch.assign_add(1)
    found["epochs"].append([*losses, float(train_accuracy.result())])
    train_accuracy.reset_state()
    checkpoint_manager.save()
    if not chief:
        tf.io.gfile.rmtree(write_dir)
    epoch.assign_add(1)
    step_in_epoch.assign(0)
found["weights"] = [w.tolist() for w in model.get_weights()]
print("found", json.dumps(found), flush=True)
