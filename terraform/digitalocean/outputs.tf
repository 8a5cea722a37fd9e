output "address" {
  description = "Public address of the site."
  value       = digitalocean_reserved_ip.site.ip_address
}

output "private_address" {
  description = "Address of the site for hosts of workers."
  value       = digitalocean_droplet.site.ipv4_address_private
}

output "storage" {
  description = "STORAGE for the .env of every host, with KEY and SECRET of an account of the bucket for the two words."
  value       = var.bucket == "" ? "" : "s3://KEY:SECRET@${var.region}.digitaloceanspaces.com/${digitalocean_spaces_bucket.files[0].name}/files?region=${var.region}"
}

output "scaling" {
  description = "Pairs of SCALING for the .env of the site; add max, size and user_data."
  value       = "provider=digitalocean,region=${var.region},image=${var.image},ssh_keys=${join(";", var.ssh_keys)},vpc_uuid=${digitalocean_vpc.inside.id},tag=${digitalocean_tag.worker.name}"
}

output "worker_user_data" {
  description = "File for SCALING's user_data: terraform output -raw worker_user_data > worker.yml"
  sensitive   = true
  value = var.worker_environment == "" ? "" : templatefile("${path.module}/../../deploy/cloud-init/worker.yml", {
    repository  = var.repository
    release     = var.release
    environment = base64encode(var.worker_environment)
  })
}
