"""Tables from keys to values, for `tf.lookup`."""
