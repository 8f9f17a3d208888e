"""Where Keras looks for weights in a model on gradtape."""

from gradtape import keras


def test_each_layer_has_one_place():
    from keras.src.saving import saving_lib

    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4)])
    model.dense = model.layers[0]
    places = [
        name
        for name, value in saving_lib._walk_saveable(model)
        if isinstance(value, (list, dict, tuple, set))
        and any(
            isinstance(part, keras.layers.Layer)
            for part in (value.values() if isinstance(value, dict) else value)
        )
    ]
    assert set(places) == {"layers"}
    assert "dense" in model._trackable_children()
