terraform {
  required_version = ">= 1.5"
  required_providers {
    hcloud = {
      source = "hetznercloud/hcloud"
      # Before, it made no records, and did not know the location of an address.
      version = "~> 1.58"
    }
  }
}
