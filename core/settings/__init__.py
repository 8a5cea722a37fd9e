"""Django settings: the only readers of environment variables. Every variable is explained in `example.env`."""

from core.settings.accounts import *
from core.settings.api import *
from core.settings.base import *
from core.settings.jobs import *
from core.settings.limits import *
from core.settings.monitoring import *
from core.settings.notices import *
from core.settings.players import *
from core.settings.rollouts import *
from core.settings.security import *
from core.settings.site import *
from core.settings.state import *
