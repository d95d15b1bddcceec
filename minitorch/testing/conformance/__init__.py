"""The conformance kit: does a backend do what the CPU does?

``pytest --pyargs minitorch.testing.conformance --device NAME`` runs it for any backend, in the tree or out of it
(``python -m minitorch.testing.conformance --device NAME`` is the same, and needs no installed package):

=====================  ================================================================================
``--device NAME``      the device type, or ``"name:1"``; the CPU by default
``--import M[:F]``     imports the module M, and calls F in it: what registers the backend
``--ops PATTERN``      only the operators whose names this regular expression finds
``--dtypes LIST``      only these dtypes: ``float32,int64``
``--samples N``        at most N samples of an operator for each dtype
``--quick``            every third operator but the special functions, and its first dtype alone
``--html FILE``        writes the table as a page
=====================  ================================================================================

`check_operator` is what runs for each operator; the ``test_*.py`` files beside it hold what is no operator's.
"""

from minitorch.testing.conformance.operators import Options, check_operator
from minitorch.testing.conformance.outcome import Failure, Outcome

__all__ = ["Failure", "Options", "Outcome", "check_operator"]
