// How far a class is: students and exercises, asked again every few seconds while it is shown.

import { ask, live } from "../api.js";
import { html, useEffect, useState } from "../ui.js";

const PAUSE = 5000;

export function Board() {
  const [board, setBoard] = useState(null);
  useEffect(() => {
    if (!live()) return undefined;
    let timer = null;
    let gone = false;
    const look = async () => {
      try {
        const answer = await ask("classBoard", {});
        if (gone) return;
        setBoard(answer);
        if (answer.students) timer = setTimeout(look, PAUSE);
      } catch (fault) {
        if (!fault.problems) throw fault;
        if (!gone) setBoard({ problems: fault.problems });
      }
    };
    look();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, []);
  if (board?.problems) return html`<p class="refused">${board.problems.join("; ")}</p>`;
  if (!board?.students) return null;
  return html`<section aria-labelledby="board-title" class="board">
    <h2 id="board-title">Class board</h2>
    <div class="table"><table>
      <thead><tr><th scope="col">Student</th>${board.exercises.map((name) => html`<th scope="col" title=${name}>${short(name)}</th>`)}<th scope="col">Done</th></tr></thead>
      <tbody>${board.students.map((student) => html`<${Student} key=${student.name} student=${student} exercises=${board.exercises} />`)}</tbody>
    </table></div>
    <p class="quiet" role="status">${board.waiting ? `${board.waiting} still to be checked` : ""}</p>
  </section>`;
}

function Student({ student, exercises }) {
  const cells = new Map(student.cells.map((each) => [each.exercise, each]));
  return html`<tr><th scope="row">${student.name}</th>${exercises.map((name) => html`<${Cell} cell=${cells.get(name)} />`)}<td>${student.done}</td></tr>`;
}

function Cell({ cell }) {
  if (!cell) return html`<td class="quiet">-</td>`;
  return html`<td class=${cell.done ? "fits" : "refused"} title=${cell.said}>${cell.done ? "✓" : "✗"} ${cell.text}</td>`;
}

function short(name) {
  return /^\d/.test(name) ? name.split("-")[0] : name;
}
