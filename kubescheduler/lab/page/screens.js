// The screens by their place in the bar. Each is a module of its own, loaded when it is first shown.

export const SCREENS = [
  { id: "cluster", title: "Cluster", load: () => import("./screens/cluster.js") },
  { id: "why", title: "Why", load: () => import("./screens/why.js") },
  { id: "tune", title: "Tune", load: () => import("./screens/tune.js") },
  { id: "hints", title: "Hints", load: () => import("./screens/hints.js") },
  { id: "time", title: "Time", load: () => import("./screens/time.js") },
  { id: "sides", title: "Side by side", load: () => import("./screens/sides.js") },
  { id: "code", title: "Code", load: () => import("./screens/code.js") },
  { id: "class", title: "Class", load: () => import("./screens/class.js") },
];

// Parts that are loaded when they are asked for.
export const PANELS = {
  exercise: () => import("./panels/exercise.js"),
  share: () => import("./panels/share.js"),
};
