from django.http import Http404, HttpRequest, HttpResponse


def not_found(request: HttpRequest) -> HttpResponse:
    """The last address of all, so that an unknown one gets the same page with DEBUG on and off."""
    raise Http404("The address is wrong, or what was here is gone.")
