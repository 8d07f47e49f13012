"""Every model of the package with the conventions of scikit-learn."""

from glognn.estimator.classifier import GloGNNClassifier as GloGNNClassifier
