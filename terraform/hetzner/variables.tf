variable "name" {
  description = "Name of this arena; prefix of everything that is made, and tag of its hosts."
  type        = string
  default     = "rl-arena"
  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,30}$", var.name))
    error_message = "Use 2 to 31 lower-case letters, digits and hyphens, with a letter first."
  }
}

variable "domain" {
  description = "Name of the site. Its zone must be managed at this provider, or point it at the output `address` yourself."
  type        = string
  validation {
    condition     = can(regex("^([a-z0-9-]+\\.)+[a-z]{2,}$", var.domain))
    error_message = "Use a full name in lower case, such as arena.example.org."
  }
}

variable "zone" {
  description = "DNS zone at this provider that gets the record; empty: no record is made."
  type        = string
  default     = ""
}

variable "organiser_email" {
  description = "Mail address of the first organiser, whose password is written to /etc/rl-arena/organiser on the host."
  type        = string
  default     = ""
  validation {
    # The host reads it as a shell does.
    condition     = can(regex("^([A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+)?$", var.organiser_email))
    error_message = "Use an address such as you@example.org, without quotes and other signs of a shell."
  }
}

variable "repository" {
  description = "Git address of the arena."
  type        = string
}

variable "release" {
  description = "Tag or branch that is installed."
  type        = string
  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9._/-]*$", var.release))
    error_message = "Use a tag or branch, such as v0.1.0."
  }
}

variable "region" {
  description = "Where everything is."
  type        = string
  default     = "fsn1"
}

variable "size" {
  description = "Kind of machine of the site; at least 2 cores and 4 GB."
  type        = string
  default     = "ccx23"
}

variable "image" {
  description = "Debian 13 at this provider."
  type        = string
  default     = "debian-13"
}

variable "ssh_keys" {
  description = "Keys that may log in, as this provider knows them."
  type        = list(string)
  validation {
    condition     = length(var.ssh_keys) > 0
    error_message = "Name at least one key, or no one can log in."
  }
}

variable "ssh_from" {
  description = "Networks from which ssh is reachable."
  type        = list(string)
  validation {
    condition     = length(var.ssh_from) > 0 && alltrue([for network in var.ssh_from : can(cidrhost(network, 0))])
    error_message = "Name networks such as 192.0.2.0/24."
  }
}

variable "network" {
  description = "Private network of the hosts."
  type        = string
  default     = "10.20.0.0/20"
  validation {
    condition     = can(cidrhost(var.network, 0))
    error_message = "Use a network such as 10.20.0.0/20."
  }
}

variable "data_gigabytes" {
  description = "Size of a volume for all that the containers keep (database, files, images); 0: they are on the host's own disk."
  type        = number
  default     = 100
  validation {
    condition     = var.data_gigabytes == 0 || (var.data_gigabytes >= 10 && var.data_gigabytes <= 10000)
    error_message = "Use 0, or 10 to 10000."
  }
}

variable "bucket" {
  description = "Name of a bucket that you have made in the console, for files and backups; empty: there is none. This provider cannot make buckets."
  type        = string
  default     = ""
  validation {
    condition     = var.bucket == "" || can(regex("^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$", var.bucket))
    error_message = "Use 3 to 63 lower-case letters, digits and hyphens, with a letter or digit at both ends."
  }
}

variable "project" {
  description = "Label `project` of everything. The token decides the project, which this provider cannot make; empty: no label."
  type        = string
  default     = ""
  validation {
    condition     = can(regex("^([A-Za-z0-9][A-Za-z0-9_.-]{0,60}[A-Za-z0-9])?$", var.project))
    error_message = "Use 2 to 62 letters, digits, hyphens, dots and underscores."
  }
}

variable "worker_environment" {
  description = "Content of the .env of further hosts of workers; empty: the output `worker_user_data` is empty."
  type        = string
  default     = ""
  sensitive   = true
}
