// The link leads to the state that the viewer shows.
const goOn = document.getElementById("go-on");
const follow = () => { goOn.href = `${goOn.dataset.goOn}${parseInt(document.getElementById("count").textContent, 10)}/`; };
new MutationObserver(follow).observe(document.getElementById("count"), { childList: true, characterData: true, subtree: true });
follow();
