"""Connect Four in the format of the older arena. State: 42 cells row by row from the top, then who moves (1 or -1)."""

from .rules import LINES


class Environment:
    def reset(self):
        self.cells = [[0] * 7 for _ in range(6)]
        self.player = 1
        return self._state(), list(range(7))

    def step(self, action):
        assert self.cells[0][action] == 0, "the column is full"
        row = max(row for row in range(6) if self.cells[row][action] == 0)
        self.cells[row][action] = self.player
        has_won = any(all(self.cells[y][x] == self.player for y, x in line) for line in LINES)
        is_full = all(cell != 0 for cell in self.cells[0])
        self.player = -self.player
        valid = [column for column in range(7) if self.cells[0][column] == 0]
        return self._state(), 1.0 if has_won else 0.0, has_won or is_full, valid

    def _state(self):
        return [cell for row in self.cells for cell in row] + [self.player]

    def to_jsonable(self):
        return {"rows": self.cells, "player": self.player}

    @staticmethod
    def html_head():
        return '<link href="{% static "environment-connect-four/board.css" %}" rel="stylesheet">'

    @staticmethod
    def jsonable_to_html(jsonable):
        names = {0: "empty", 1: "first", -1: "second"}
        rows = "".join(
            "<tr>" + "".join(f'<td class="{names[cell]}" onclick="alert(1)"></td>' for cell in row) + "</tr>"
            for row in jsonable["rows"]
        )
        return f"<table class='board' style='margin: 8px auto'>{rows}</table><script>document.title='ran'</script>"
