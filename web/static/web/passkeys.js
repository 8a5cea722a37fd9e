// Passkeys: the browser makes one or uses one, and the page's form sends what it says. django-allauth does the rest.
const form = document.querySelector("form[data-passkey]");
const passkey = document.getElementById("passkey");
if (form && passkey && window.PublicKeyCredential) {
  passkey.hidden = false;
  const missing = document.getElementById("passkey-missing");
  if (missing) missing.hidden = true;
  const ids = { credential: "id_credential", data: "passkey-data" };
  const forms = {
    add: () => allauth.webauthn.forms.addForm({ ids: { ...ids, add: "passkey", passwordless: "id_passwordless" } }),
    authenticate: () => allauth.webauthn.forms.authenticateForm({ ids: { ...ids, authenticate: "passkey" } }),
    login: () => allauth.webauthn.forms.loginForm({ ids: { ...ids, login: "passkey" } }),
  };
  forms[form.dataset.passkey]();
  document.addEventListener("allauth.error", (event) => {
    event.preventDefault();
    document.getElementById("passkey-error").hidden = false;
  });
  passkey.addEventListener("click", () => {
    document.getElementById("passkey-error").hidden = true;
  });
}
