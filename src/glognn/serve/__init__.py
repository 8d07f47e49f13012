"""A trained model as a small HTTP service, see :mod:`glognn.serve.app`."""
