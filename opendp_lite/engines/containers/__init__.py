"""Containers of other libraries; each file is imported once its library is in use."""
