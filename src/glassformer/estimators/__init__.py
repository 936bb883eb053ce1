"""The scikit-learn estimators: what Python users call."""
