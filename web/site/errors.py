from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.defaults import server_error


def not_found(request: HttpRequest) -> HttpResponse:
    """The last address of all, so that an unknown one gets the same page with DEBUG on and off."""
    raise Http404("The address is wrong, or what was here is gone.")


def failed(request: HttpRequest) -> HttpResponse:
    """After a mistake of the arena's own: a page for people, JSON for programs."""
    found = request.resolver_match
    # Addresses of older systems are the API's, too, and do not begin like the others.
    if found is not None and found.namespace == "api":
        return JsonResponse({"detail": "The arena made a mistake. It is in its log."}, status=500)
    return server_error(request)
