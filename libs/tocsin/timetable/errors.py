"""The one error of this package."""


class InvalidSchedule(ValueError):
    """A schedule that means nothing: which part of it is wrong, and what would be right.

    `keyword` names the part: an option (`timezone`), a kind (`cron`), a cron field (`day-of-month`)
    or a condition (`kind`, `unknown`, `length`, `fields`, `nickname`, `never`). `column` is the
    1-based position in the cron expression of the list item that is wrong, for a cron field only.
    """

    def __init__(self, keyword: str, message: str, column: int | None = None) -> None:
        super().__init__(message)
        self.keyword = keyword
        self.column = column

    def __reduce__(self) -> tuple[type, tuple[str, str, int | None]]:
        return type(self), (self.keyword, str(self), self.column)
