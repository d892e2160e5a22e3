# SPDX-License-Identifier: Apache-2.0
"""The base of errors that commands print in one line."""


class UserError(Exception):
    """Raised for what the user of a command can put right; the message says what is wrong."""
