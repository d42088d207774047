"use strict";
// The page of a served drive: its sections are replaced by what the server sends.
(() => {
  const state = document.getElementById("live");
  const source = new EventSource(JSON.parse(document.querySelector("script.events").textContent));
  source.onmessage = (event) => {
    for (const [key, body] of Object.entries(JSON.parse(event.data))) {
      const section = document.getElementById(key);
      // What somebody uses at this moment stays as it is.
      if (section.contains(document.activeElement)) continue;
      const title = section.querySelector("h2");
      section.innerHTML = body;
      section.prepend(title);
    }
    state.textContent = "live";
  };
  source.onerror = () => {
    state.textContent = "the server does not answer";
  };
})();
