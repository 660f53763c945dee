"""Tests of sessions and ledgers; a package, as its fixtures have a file like others."""
