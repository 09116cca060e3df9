// What scrolls sideways has to be reached with the keyboard, too.
const scrolling = ".md-typeset__scrollwrap, .md-typeset table, .md-typeset pre > code";
const makeReachable = () => document.querySelectorAll(scrolling).forEach((part) => {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
});
addEventListener("load", () => requestAnimationFrame(makeReachable));
addEventListener("resize", makeReachable);
